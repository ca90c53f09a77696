package stdio

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/agentd-host/agentd/internal/procguard"
	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
)

// TestM14_Kill9LeavesNothing starts this test binary as a host that starts a
// stubborn server with a stubborn grandchild, kills the host with no chance
// to clean up, and looks for what is left.
func TestM14_Kill9LeavesNothing(t *testing.T) {
	host := exec.Command(os.Args[0], "-test.run=^TestHostThatDies$")
	host.Env = append(os.Environ(), "AGENTD_TEST_HOST=1")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var server, child, guard int
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanErr := fmt.Sscanf(line, "pids %d %d %d", &server, &child, &guard); err != nil || scanErr != nil {
		_ = host.Process.Kill()
		t.Fatalf("host said %q, %v", line, err)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	for _, pid := range []int{server, child, guard} {
		awaitDead(t, pid)
	}
}

// TestHostThatDies is the host of the test above.
func TestHostThatDies(t *testing.T) {
	if os.Getenv("AGENTD_TEST_HOST") == "" {
		t.Skip("run by TestM14_Kill9LeavesNothing")
	}
	guard := new(procguard.Guard)
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	name, args, env := fake.Command("-grandchild", "-ignore-eof", "-ignore-term")
	c, err := Start(Command{Name: name, Args: args, Env: env}, &Options{Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("pids %d %d %d\n", c.PID(), grandchild(t, c), guard.PID())
	<-time.After(time.Minute) // killed long before
}

func TestGuard_ClosedEndsNothingThatIsGone(t *testing.T) {
	guard := new(procguard.Guard)
	if err := guard.Start(); err != nil {
		t.Skip(err)
	}
	c := start(t, &Options{Guard: guard})
	kept := start(t, nil)
	c.Close()
	if err := guard.Close(); err != nil {
		t.Fatal(err)
	}
	if !alive(kept.PID()) {
		t.Error("the guard ended a server that it did not watch")
	}
	if alive(guard.PID()) {
		t.Error("the guard is left")
	}
}
