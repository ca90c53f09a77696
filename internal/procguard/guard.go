// Package procguard ends the processes that this one started when it dies
// without a chance to do so itself.
//
//	var guard procguard.Guard // closed at the end
//	guard.Watch(cmd.Process.Pid)
//	cmd.Wait()
//	guard.Forget(cmd.Process.Pid)
package procguard

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// A Guard ends process groups when this process dies without a chance to do
// so itself (kill -9, out of memory, a second Ctrl-C). It is one small helper
// process that waits for the end of its stdin, which only our death or
// [Guard.Close] brings, and then kills the groups that were not reported as
// ended.
//
// The zero value is ready for use; the helper starts with the first group.
// Its methods may be called concurrently, and on nil, where they do nothing.
type Guard struct {
	mu    sync.Mutex     // guards the fields below
	tried bool           // the helper was started, or will not be
	in    io.WriteCloser // nil: there is no helper
	cmd   *exec.Cmd
	done  chan struct{} // closed when the helper was reaped
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

// Start starts the helper, for who wants to know whether it can be: where
// there is no shell it returns an error, and nothing is guarded.
func (g *Guard) Start() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.start()
}

// start is called with the lock held.
func (g *Guard) start() error {
	if g.tried {
		return nil
	}
	g.tried = true
	cmd := exec.Command("/bin/sh", "-c", guardScript, "agentd-guard")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	detach(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the process guard: %w", err)
	}
	g.in, g.cmd, g.done = in, cmd, make(chan struct{})
	go func() {
		defer close(g.done)
		_ = cmd.Wait()
	}()
	return nil
}

// Close ends the helper, and with it every group that still runs. Nothing is
// guarded any more.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tried = true
	if g.in == nil {
		return nil
	}
	err := g.in.Close()
	<-g.done
	return err
}

// PID is the helper's process id, once it was started.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

// Watch is told when a group has begun. Without a helper it does nothing: a
// guard is the second net.
func (g *Guard) Watch(group int) { g.tell('+', group) }

// Forget is told when a group has ended.
func (g *Guard) Forget(group int) { g.tell('-', group) }

func (g *Guard) tell(op rune, group int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.start() != nil || g.in == nil {
		return
	}
	_, _ = fmt.Fprintf(g.in, "%c %d\n", op, group)
}
