package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentd-host/agentd/core"
)

// TestE2E runs the scripts that need servers of the npm registry. Beside the
// commands of TestScripts they know:
//
//	wait-tools NAME   wait until the daemon of agent.yml lists a tool
//	wait-gone NAME    wait until it does not
//	pid-of SERVER FILE  write the pid of an MCP server to a file
func TestE2E(t *testing.T) {
	if os.Getenv("AGENTD_E2E_NPM") == "" {
		t.Skip("AGENTD_E2E_NPM names no folder with npm packages; .ci/e2e installs them")
	}
	runScripts(t, "testdata/e2e")
}

// agentd runs a command against the daemon and returns what it printed.
func agentd(ts *testscript.TestScript, args ...string) string {
	cmd := exec.Command(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "agentd"), args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnv(ts)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(out)
}

func waitTools(ts *testscript.TestScript, neg bool, args []string) { waitListed(ts, args[0], true) }

func waitGone(ts *testscript.TestScript, neg bool, args []string) { waitListed(ts, args[0], false) }

func waitListed(ts *testscript.TestScript, name string, want bool) {
	deadline := time.After(patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		out := agentd(ts, "tools", "-c", "agent.yml", "--json")
		if strings.Contains(out, fmt.Sprintf("%q", name)) == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%s: listed is %v for too long:\n%s", name, !want, out)
		}
	}
}

func pidOf(ts *testscript.TestScript, neg bool, args []string) {
	var status []core.MCPStatus
	ts.Check(json.Unmarshal([]byte(agentd(ts, "mcp", "status", "-c", "agent.yml", "--json")), &status))
	for _, s := range status {
		if s.Name == args[0] {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(fmt.Sprint(s.PID)), 0o644))
			return
		}
	}
	ts.Fatalf("no server %q in %v", args[0], status)
}
