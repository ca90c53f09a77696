package stdio

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// A Guard ends process groups when this process dies without a chance to do
// so itself (kill -9, out of memory). It is one small helper process that
// waits for the end of its stdin, which only our death or [Guard.Close]
// brings, and then kills the groups that were not reported as ended.
//
// Its methods may be called concurrently, and on nil, where they do nothing.
type Guard struct {
	mu   sync.Mutex // guards in
	in   io.WriteCloser
	cmd  *exec.Cmd
	done chan struct{} // closed when the helper was reaped
}

// guardScript keeps the set of groups in its positional parameters. It runs
// in a session of its own, so a Ctrl-C at our terminal does not reach it.
const guardScript = `trap '' HUP INT TERM
while read -r op group; do
	case $op in
	+) set -- "$@" "$group" ;;
	-) for g; do shift; [ "$g" = "$group" ] || set -- "$@" "$g"; done ;;
	esac
done
for g; do kill -s KILL -- "-$g" 2>/dev/null; done
exit 0`

// NewGuard starts the helper. Where there is no shell it returns an error;
// callers go on without a guard.
func NewGuard() (*Guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "agentd-guard")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	detach(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process guard: %w", err)
	}
	g := &Guard{in: in, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		_ = cmd.Wait()
	}()
	return g, nil
}

// Close ends the helper, and with it every group that still runs.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	err := g.in.Close()
	g.mu.Unlock()
	<-g.done
	return err
}

// PID is the helper's process id.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

func (g *Guard) watch(group int)  { g.tell('+', group) }
func (g *Guard) forget(group int) { g.tell('-', group) }

func (g *Guard) tell(op rune, group int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// A guard that died is no reason to fail: it is the second net.
	_, _ = fmt.Fprintf(g.in, "%c %d\n", op, group)
}
