package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// commandInput is what run_command takes.
type commandInput struct {
	Command string   `json:"command,omitempty" jsonschema_description:"Command line for the shell (sh). Give this or argv."`
	Argv    []string `json:"argv,omitempty" jsonschema_description:"Program and arguments, run without a shell: nothing is expanded. Give this or command."`
	Cwd     string   `json:"cwd,omitempty" jsonschema_description:"Folder to run in, relative to the workspace. Default is the workspace."`
	Stdin   string   `json:"stdin,omitempty" jsonschema_description:"Text for the standard input. Default is an empty input."`
	Timeout float64  `json:"timeout_seconds,omitempty" jsonschema_description:"Seconds after which the command and all that it started are ended."`
}

// commandLimits bound what a command may use.
type commandLimits struct {
	timeout, longest time.Duration // by default, and at most
	output           int           // bytes kept
	env              []string      // names and globs beyond the usual
	grace            time.Duration // between asking a group to end and killing it
}

// drainGrace is how long output is still read that processes which escaped
// the group keep open.
const drainGrace = 2 * time.Second

// argv returns what is executed.
func (in commandInput) argv() ([]string, error) {
	switch {
	case in.Command != "" && len(in.Argv) > 0:
		return nil, errors.New("give command or argv, not both")
	case strings.TrimSpace(in.Command) != "":
		return shellArgv(in.Command), nil
	case len(in.Argv) == 0 || in.Argv[0] == "":
		return nil, errors.New("give a command (for the shell) or argv (a program with its arguments)")
	}
	return in.Argv, nil
}

func (in commandInput) limit(l commandLimits) (time.Duration, error) {
	switch {
	case !(in.Timeout >= 0): // NaN too
		return 0, errors.New("timeout_seconds must not be negative")
	case in.Timeout == 0:
		return l.timeout, nil
	case in.Timeout > l.longest.Seconds():
		return 0, fmt.Errorf("timeout_seconds is at most %g (`maxCommandTimeout`)", l.longest.Seconds())
	}
	return time.Duration(in.Timeout * float64(time.Second)), nil
}

// commandResult is what became of a command.
type commandResult struct {
	output string
	code   int    // exit code; -1 if it was ended by a signal
	ended  string // how it ended, when not by exiting
	left   bool   // it left processes behind, which were ended
}

// run executes a command in a process group of its own and returns when
// nothing of the group runs any more. The error is for commands that could
// not be started; it is the context's cause if ctx ended.
func (f *folder) run(ctx context.Context, in commandInput, l commandLimits) (*commandResult, error) {
	argv, err := in.argv()
	if err != nil {
		return nil, err
	}
	limit, err := in.limit(l)
	if err != nil {
		return nil, err
	}
	dir, err := f.commandFolder(in.Cwd)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	cmd := exec.CommandContext(timed, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = environment(os.Environ(), l.env)
	if in.Stdin != "" {
		cmd.Stdin = strings.NewReader(in.Stdin)
	}
	res, err := runGroup(timed, cmd, l)
	switch {
	case err != nil:
		return nil, startError(argv[0], err)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case timed.Err() != nil:
		res.ended = fmt.Sprintf("ended after its time-out of %s", limit)
	}
	return res, nil
}

var errTimeout = errors.New("time-out of the command")

// commandFolder returns the absolute path of a folder below the root.
func (f *folder) commandFolder(cwd string) (string, error) {
	name, err := f.resolve(cmp.Or(cwd, "."))
	if err != nil {
		return "", err
	}
	info, err := f.root.Stat(name)
	switch {
	case err != nil:
		return "", plainError(name, err)
	case !info.IsDir():
		return "", fmt.Errorf("cwd: %s is not a folder", name)
	}
	return filepath.Join(f.path, filepath.FromSlash(name)), nil
}

// runGroup starts cmd as the leader of a new group, waits for it, then ends
// what is left of the group.
func runGroup(ctx context.Context, cmd *exec.Cmd, l commandLimits) (*commandResult, error) {
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
	cmd.WaitDelay = l.grace
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return nil, err
	}
	out := newCapture(l.output)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(out, r) // ends with the last writer, or at the deadline
	}()
	err = cmd.Wait()
	left := group.kill()
	if r.SetReadDeadline(time.Now().Add(drainGrace)) != nil {
		r.Close()
	}
	<-drained
	res := &commandResult{output: out.text(), code: cmd.ProcessState.ExitCode(), left: left}
	if res.code < 0 {
		res.ended = cmd.ProcessState.String()
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

// answer is what the model reads: the output, then how it ended.
func (r *commandResult) answer() string {
	n := notes{cmp.Or(r.ended, fmt.Sprintf("exit code %d", r.code))}
	if r.left && r.ended == "" {
		n.add("processes that it left behind were ended")
	}
	output := r.output
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return output + n.String()
}
