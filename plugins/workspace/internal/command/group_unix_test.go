//go:build unix

package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// life makes a fifo "alive" in dir. Processes that hold it open for
// writing are alive as long as it does not end: ready waits for their first
// word, dead for the end of the last.
func life(t *testing.T, dir string) (ready, dead func()) {
	t.Helper()
	path := filepath.Join(dir, "alive")
	must(t, syscall.Mkfifo(path, 0o600))
	fifo, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { fifo.Close() })
	must(t, fifo.SetReadDeadline(time.Now().Add(time.Minute)))
	// Without a writer a read would end at once: this one is closed when the
	// command's own are there.
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
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
			p := shell(t, "exec 9>alive; "+line)
			p.Grace = 20 * time.Millisecond
			ready, dead := life(t, p.Dir)
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("turned away")
			go func() {
				ready()
				cancel(cause)
			}()
			if _, err := p.Run(ctx); !errors.Is(err, cause) {
				t.Errorf("run: %v", err)
			}
			dead()
		})
	}
}

func TestE21_NothingIsLeftBehindByAProgramThatEnds(t *testing.T) {
	p := shell(t, "exec 9>alive; echo >&9; sleep 1000 & echo done")
	ready, dead := life(t, p.Dir)
	res, err := p.Run(t.Context())
	must(t, err)
	ready()
	dead()
	if res.Output != "done\n" || res.Code != 0 || !res.Left {
		t.Errorf("%+v", res)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
