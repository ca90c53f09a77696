package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/agentd-host/agentd/internal/procguard"
)

// drainGrace is how long output is still read that processes which escaped
// the group keep open.
const drainGrace = 2 * time.Second

// Program is what is run.
type Program struct {
	Argv    []string // the program, by name or path, and its arguments
	Dir     string   // absolute
	Stdin   string
	Env     []string         // names and globs of variables that it sees beyond the usual
	Timeout time.Duration    // after which it and all that it started are ended
	Grace   time.Duration    // between asking its group to end and killing it
	Output  int              // bytes of output kept
	Guard   *procguard.Guard // ends it when this process dies; nil: nothing does
}

// Result is what became of a program.
type Result struct {
	Output string
	Code   int    // exit code; -1 if it was ended by a signal
	Ended  string // how it ended, when not by exiting
	Left   bool   // it left processes behind, which were ended
}

// Run executes the program in a process group of its own and returns when
// nothing of the group runs any more. The error is for programs that could
// not be started; it is the context's cause if ctx ended.
func (p Program) Run(ctx context.Context) (*Result, error) {
	timed, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
	defer cancel()
	cmd := exec.CommandContext(timed, p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = environment(os.Environ(), p.Env)
	cmd.WaitDelay = p.Grace
	if p.Stdin != "" {
		cmd.Stdin = strings.NewReader(p.Stdin)
	}
	res, err := runGroup(timed, cmd, p)
	switch {
	case err != nil:
		return nil, startError(p.Argv[0], err)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case timed.Err() != nil:
		res.Ended = fmt.Sprintf("ended after its time-out of %s", p.Timeout)
	}
	return res, nil
}

var errTimeout = errors.New("time-out of the command")

// runGroup starts cmd as the leader of a new group, waits for it, then ends
// what is left of the group.
func runGroup(ctx context.Context, cmd *exec.Cmd, p Program) (*Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// A file of the system, not a writer of ours: so that waiting for the
	// leader does not wait for whoever else holds the output open.
	cmd.Stdout, cmd.Stderr = w, w
	group := newGroup(cmd)
	cmd.Cancel = group.end
	_ = p.Guard.Start() // now, so that nothing lies between the command's start and Watch
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return nil, err
	}
	p.Guard.Watch(cmd.Process.Pid)
	out := newCapture(p.Output)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(out, r) // ends with the last writer, or at the deadline
	}()
	err = cmd.Wait()
	left := group.kill()
	p.Guard.Forget(cmd.Process.Pid)
	if r.SetReadDeadline(time.Now().Add(drainGrace)) != nil {
		r.Close()
	}
	<-drained
	res := &Result{Output: out.text(), Code: cmd.ProcessState.ExitCode(), Left: left}
	if res.Code < 0 {
		res.Ended = cmd.ProcessState.String()
	}
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		return res, nil
	}
	return nil, err
}

func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("no program %q in PATH", program)
	}
	return fmt.Errorf("%s: %w", program, err)
}
