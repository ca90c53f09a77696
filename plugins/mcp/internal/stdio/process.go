package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/agentd-host/agentd/internal/procguard"
)

// A process is a child that leads a process group of its own.
type process struct {
	cmd  *exec.Cmd
	pid  int
	gone chan struct{} // closed when the group is gone and the child reaped
}

// startProcess starts the command and a goroutine that reaps it.
func startProcess(c Command, in, out *os.File, logs io.Writer, o Options) (*process, error) {
	cmd, err := build(c)
	if err != nil {
		return nil, err
	}
	logRead, logWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, logWrite
	p := &process{cmd: cmd, gone: make(chan struct{})}
	started := make(chan error)
	go p.run(started, o.Guard, logs, logRead)
	err = <-started
	_ = logWrite.Close()
	if err != nil {
		_ = logRead.Close()
		return nil, explain(c, err)
	}
	return p, nil
}

func build(c Command) (*exec.Cmd, error) {
	if c.Name == "" {
		return nil, errEmpty
	}
	if info, err := os.Stat(c.Dir); c.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("cwd %s: no such folder", c.Dir)
	}
	cmd := command(c)
	cmd.Dir = c.Dir
	cmd.Env = Environ(os.Environ(), c.Env)
	isolate(cmd)
	return cmd, nil
}

// Path is the file that the system would run, absolute, links not followed: a
// plain name is looked up in PATH, anything else starts from the folder that
// the program runs in. The error is that of Start.
func (c Command) Path() (string, error) {
	name := c.Name
	if name == "" {
		return "", errEmpty
	}
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir, name)
		if c.Dir == "" {
			name = "." + string(filepath.Separator) + name
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", explain(c, err)
	}
	return filepath.Abs(path)
}

var errEmpty = errors.New("the command is empty")

// run starts, awaits and reaps the child on one locked thread: the kernel's
// parent-death signal follows the thread that forked, and waiting would block
// a thread anyway.
func (p *process) run(started chan<- error, guard *procguard.Guard, logs io.Writer, logRead *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	guard.Watch(p.pid)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		_, _ = io.Copy(logs, logRead)
	}()
	started <- nil
	reap(p.cmd)
	guard.Forget(p.pid)
	// Something that left the group may hold stderr open for ever.
	_ = logRead.SetReadDeadline(time.Now().Add(drainTime))
	<-logged
	_ = logRead.Close()
	close(p.gone)
}

// drainTime is how long we read on after the process died.
const drainTime = 200 * time.Millisecond

// state describes the end of a process that is gone.
func (p *process) state() string {
	if p.cmd.ProcessState == nil {
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// stop waits for the process, then terminates, then kills the group.
func (p *process) stop(grace time.Duration) {
	if p.wait(grace) {
		return
	}
	terminateGroup(p.cmd.Process)
	if p.wait(grace) {
		return
	}
	killGroup(p.cmd.Process)
	<-p.gone
}

func (p *process) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.gone:
		return true
	case <-t.C:
		return false
	}
}

func explain(c Command, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s: not found in PATH; install it or give its full path", c.Name)
	}
	return fmt.Errorf("starting %s: %w", c.Name, err)
}

// A lineLogger logs complete lines.
type lineLogger struct {
	log    *slog.Logger
	redact func(string) string
	rest   []byte
}

const maxLogLine = 4 << 10

func (l *lineLogger) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < maxLogLine {
			return len(p), nil
		}
		if i < 0 {
			i = len(l.rest) - 1
		}
		l.log.Debug("server stderr", "line", logLine{l, l.rest[:i+1]})
		l.rest = append(l.rest[:0], l.rest[i+1:]...)
	}
}

// A logLine is redacted if somebody logs it.
type logLine struct {
	l    *lineLogger
	text []byte // until the next line
}

// LogValue is what the log shows.
func (l logLine) LogValue() slog.Value {
	return slog.StringValue(l.l.redact(string(bytes.TrimSpace(l.text))))
}
