//go:build unix

package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// life makes a fifo "alive" in the root. Processes that hold it open for
// writing are alive as long as it does not end: ready waits for their first
// word, dead for the end of the last.
func life(t *testing.T, f *folder) (ready, dead func()) {
	t.Helper()
	must(t, syscall.Mkfifo(f.abs("alive"), 0o600))
	fifo, err := os.OpenFile(f.abs("alive"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { fifo.Close() })
	must(t, fifo.SetReadDeadline(time.Now().Add(time.Minute)))
	// Without a writer a read would end at once: this one is closed when the
	// command's own are there.
	writer, err := os.OpenFile(f.abs("alive"), os.O_WRONLY, 0)
	must(t, err)
	ready = func() {
		t.Helper()
		if _, err := fifo.Read(make([]byte, 1)); err != nil {
			t.Errorf("the command did not start: %v", err)
		}
		writer.Close()
	}
	dead = func() {
		t.Helper()
		if _, err := io.Copy(io.Discard, fifo); err != nil {
			t.Errorf("a process lives on: %v", err)
		}
	}
	return ready, dead
}

func TestE21_GrandchildrenDieWithTheirCommand(t *testing.T) {
	cases := map[string]string{
		"children":          "sleep 1000 & sleep 1000 & echo >&9; wait",
		"grandchildren":     "(sh -c 'sleep 1000 & sleep 1000' &) ; sh -c 'sleep 1000 & echo >&9; wait'",
		"deaf to SIGTERM":   "trap '' TERM; echo >&9; while :; do sleep 1000; done",
		"closed its output": "exec >/dev/null 2>&1; echo >&9; sleep 1000",
	}
	if _, err := exec.LookPath("setsid"); err == nil && runtime.GOOS == "linux" {
		cases["a session of its own"] = "setsid sh -c 'echo >&9; sleep 1000' & wait"
	}
	for name, line := range cases {
		t.Run(name, func(t *testing.T) {
			f := testFolder(t, nil)
			l := testCommands
			l.grace = 20 * time.Millisecond
			ready, dead := life(t, f)
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("turned away")
			go func() {
				ready()
				cancel(cause)
			}()
			_, err := f.run(ctx, commandInput{Command: "exec 9>alive; " + line}, l)
			if !errors.Is(err, cause) {
				t.Errorf("run: %v", err)
			}
			dead()
		})
	}
}

func TestE21_NothingIsLeftBehindByACommandThatEnds(t *testing.T) {
	f := testFolder(t, nil)
	ready, dead := life(t, f)
	res, err := f.run(t.Context(), commandInput{Command: "exec 9>alive; echo >&9; sleep 1000 & echo done"}, testCommands)
	must(t, err)
	ready()
	dead()
	wantText(t, res.answer(), "done\n[exit code 0; processes that it left behind were ended]")
}

func TestCommandEndsAtItsTimeout(t *testing.T) {
	f := testFolder(t, nil)
	res, err := f.run(t.Context(), commandInput{Command: "echo begun; sleep 1000", Timeout: 0.3}, testCommands)
	must(t, err)
	wantText(t, res.answer(), "[ended after its time-out of 300ms]")
	if res.code != -1 {
		t.Errorf("code = %d", res.code)
	}
}

func TestCommandOutputIsCapped(t *testing.T) {
	f := testFolder(t, nil)
	l := testCommands
	l.output = 200
	res, err := f.run(t.Context(), commandInput{Command: "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done"}, l)
	must(t, err)
	wantText(t, res.answer(), "line 0\n", "bytes left out", "line 4999\n[exit code 0]")
	if len(res.output) > 400 {
		t.Errorf("%d bytes", len(res.output))
	}
}

func TestReadDoesNotWaitAtAPipe(t *testing.T) {
	f := testFolder(t, nil)
	must(t, syscall.Mkfifo(f.abs("pipe"), 0o600))
	_, err := f.read(t.Context(), "pipe", readInput{})
	wantError(t, err, "named pipe")
	_, err = f.write(t.Context(), "pipe", writeInput{Content: "x"})
	wantError(t, err, "named pipe")
	got, err := f.search(t.Context(), ".", searchInput{Pattern: "x"})
	must(t, err)
	if !strings.Contains(got, "no match") {
		t.Errorf("search = %q", got)
	}
	_, err = f.list(t.Context(), "pipe", listInput{})
	wantError(t, err, "is a file")
}

// The words of a line are those that the shell itself makes of it.
func TestShellCommandsAgreeWithTheShell(t *testing.T) {
	f := testFolder(t, nil)
	for _, line := range []string{
		"a b  c", `'a b' "c d" e\ f`, `"a\"b" "c\\d" "e\xf" 'g\h' '' ""`, "a'b'\"c\"d", "a \\\n b\\\nc", "a#b #c d",
		"\"a\\\nb\"", `\\a \'b \"c`, "é 'ü' \"ö\"", "a=b c=d", "-x --y=z %1 @a +b ^c a,b",
	} {
		commands, ok := shellCommands("echo " + line)
		if !ok || len(commands) != 1 {
			t.Errorf("%q was not told: %q", line, commands)
			continue
		}
		want, err := f.run(t.Context(), commandInput{Command: "set -- " + line + "\nprintf '<%s>' \"$@\""}, testCommands)
		must(t, err)
		got, err := f.run(t.Context(), commandInput{Command: "set -- " + strings.TrimPrefix(commands[0], "echo ") + "\nprintf '<%s>' \"$@\""}, testCommands)
		must(t, err)
		if got.output != want.output {
			t.Errorf("%q is %s for the shell, told as %s", line, want.output, got.output)
		}
	}
}
