//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// person is somebody at a terminal: what a program prints there is collected,
// and keys are typed into it.
type person struct {
	t       *testing.T
	cmd     *exec.Cmd
	tty     *os.File
	columns uint16
	done    chan struct{} // closed after exit and the last output

	mu   sync.Mutex // guards the fields below
	out  bytes.Buffer
	seen int
	more chan struct{}
}

// workplace is a folder with an agent.yml, and a home and a state of its own.
type workplace struct{ dir, home string }

// newWorkplace writes the files of a folder: names and contents in turns.
func newWorkplace(t *testing.T, files ...string) workplace {
	t.Helper()
	root := t.TempDir()
	w := workplace{filepath.Join(root, "work"), filepath.Join(root, "home")}
	for _, dir := range []string{w.dir, w.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(files); i += 2 {
		w.write(t, files[i], files[i+1])
	}
	return w
}

func (w workplace) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// As an editor does: a new file, renamed.
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func (w workplace) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func (w workplace) state(name string) string { return filepath.Join(w.home, "state", name) }

// command is a program of TestMain in this folder.
func (w workplace) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "AGENTD_HOME=" + w.state(""),
		"USER=tester", "TERM=xterm", "TMPDIR=" + t.TempDir(),
	}
	return cmd
}

// run runs a command without a terminal and returns what it printed and its
// exit code.
func (w workplace) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := w.command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// sit starts a program at a terminal of so many columns.
func (w workplace) sit(t *testing.T, columns uint16, args ...string) *person {
	t.Helper()
	return sit(t, w.command(t, args...), columns)
}

func sit(t *testing.T, cmd *exec.Cmd, columns uint16) *person {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	p := &person{t: t, cmd: cmd, tty: tty, columns: columns, done: make(chan struct{}), more: make(chan struct{})}
	go p.watch()
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it ended already
		<-p.done
		tty.Close()
		if t.Failed() {
			t.Logf("the screen:\n%s", p.screen())
		}
	})
	return p
}

func (p *person) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := p.tty.Read(buf)
		p.mu.Lock()
		p.out.Write(buf[:n])
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	p.cmd.Wait() //nolint:errcheck // read from ProcessState
	close(p.done)
}

// types sends keys.
func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// says types a line.
func (p *person) says(line string) {
	p.t.Helper()
	p.types(line + "\r")
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// sees waits until what was printed since the last call holds each of the
// expressions, one after the other. Colours do not count.
func (p *person) sees(exprs ...string) {
	p.t.Helper()
	for _, expr := range exprs {
		p.waitFor(expr)
	}
}

func (p *person) waitFor(expr string) {
	p.t.Helper()
	re := regexp.MustCompile(expr)
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		plain, more := colours.ReplaceAllString(p.out.String(), ""), p.more
		if at := re.FindStringIndex(plain[min(p.seen, len(plain)):]); at != nil {
			p.seen += at[1]
			p.mu.Unlock()
			return
		}
		rest := plain[min(p.seen, len(plain)):]
		p.mu.Unlock()
		select {
		case <-more:
		case <-p.done:
			p.mu.Lock()
			plain := colours.ReplaceAllString(p.out.String(), "")
			p.mu.Unlock()
			if !re.MatchString(plain[min(p.seen, len(plain)):]) {
				p.t.Fatalf("it ended without %q in:\n%q", expr, rest)
			}
		case <-timeout:
			p.t.Fatalf("no %q in:\n%q", expr, rest)
		}
	}
}

// raw is everything that was printed.
func (p *person) raw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// screen is what stands on the screen, and all that was scrolled off it.
func (p *person) screen() string { return screenOf(p.raw(), int(p.columns)).String() }

// resizes changes the window.
func (p *person) resizes(columns uint16) {
	p.t.Helper()
	p.columns = columns
	if err := pty.Setsize(p.tty, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		p.t.Fatal(err)
	}
}

// leaves waits for the exit with this code.
func (p *person) leaves(code int) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("it does not end; last seen:\n%s", p.screen())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d:\n%s", got, code, p.screen())
	}
}

func (p *person) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// lacks fails if the output so far holds text.
func (p *person) lacks(text string) {
	p.t.Helper()
	if strings.Contains(colours.ReplaceAllString(p.raw(), ""), text) {
		p.t.Errorf("the output holds %q:\n%s", text, p.screen())
	}
}

// shell starts a shell at a terminal that runs the program, then says with
// which code it ended and whether the terminal is as it was.
func (w workplace) shell(t *testing.T, columns uint16, line string) *person {
	t.Helper()
	cmd := w.command(t, "sh", "-c", fmt.Sprintf(`%s; echo "code=$?"; stty -a | grep -o '[-]*icanon'; echo over`, line))
	return sit(t, cmd, columns)
}
