package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
)

// listedServer is an entry of the list of real servers.
type listedServer struct {
	Name, Package, Version, Entry, Runtime, Protocol string
	Args                                             []string
	Env                                              map[string]string
	Tools                                            int
}

// TestRealServers starts servers of the npm registry that .ci/servers
// installed. AGENTD_SERVERS is the folder with one folder a server,
// AGENTD_NODE the node to run them with, AGENTD_ONLY names to restrict it to.
func TestRealServers(t *testing.T) {
	dir := os.Getenv("AGENTD_SERVERS")
	if dir == "" {
		t.Skip("run by .ci/servers")
	}
	data, err := os.ReadFile("../../../shared/mcp/servers.json")
	if err != nil {
		t.Skip("no list of real servers beside the repository")
	}
	var list []listedServer
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	only := strings.Fields(os.Getenv("AGENTD_ONLY"))
	for _, l := range list {
		if len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) { checkReal(t, dir, l) })
	}
}

func checkReal(t *testing.T, dir string, l listedServer) {
	entry := filepath.Join(dir, strings.ReplaceAll(l.Package, "/", "+"), l.Entry)
	if _, err := os.Stat(entry); err != nil {
		t.Skip("not installed: " + entry)
	}
	scratch := realScratch(t)
	in := func(s string) string { return strings.ReplaceAll(s, "${SCRATCH}", scratch) }
	cfg := ServerConfig{Command: entry, Cwd: scratch, Env: map[string]string{"HOME": scratch}}
	if l.Runtime == "node" {
		cfg.Command, cfg.Args = os.Getenv("AGENTD_NODE"), []string{entry}
	}
	for _, a := range l.Args {
		cfg.Args = append(cfg.Args, in(a))
	}
	for k, v := range l.Env {
		cfg.Env[k] = in(v)
	}
	began := time.Now()
	r := start(t, map[string]ServerConfig{l.Name: cfg})
	var s core.MCPStatus
	eventually(t, "an outcome", func() bool {
		s = r.status(l.Name)
		return s.State == core.SourceReady && s.PID != 0 || s.Error != ""
	})
	if s.Error != "" {
		t.Fatalf("it does not start: %s", s.Error)
	}
	took := time.Since(began)
	for _, tool := range r.names("mcp__") {
		checkFit(t, r.Tool(tool).Parameters)
	}
	callReal(t, r, l.Name)
	began = time.Now()
	if err := r.Host.Close(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("RESULT %s era=%s tools=%d listed=%d start=%v stop=%v", l.Name, s.Era, s.Tools, l.Tools,
		took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if s.Tools < l.Tools { // some show more to clients that can do more
		t.Errorf("%d tools, the list says %d", s.Tools, l.Tools)
	}
}

// realScratch is a folder with what the servers expect of one.
func realScratch(t *testing.T) string {
	t.Helper()
	scratch := t.TempDir()
	files, _ := filepath.Glob("../../../shared/mcp/fixtures/*")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(scratch, filepath.Base(f)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(scratch, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	return scratch
}

// realCalls are calls that work without a network, and what their text holds.
var realCalls = map[string]struct{ tool, args, want string }{
	"everything":          {"mcp__everything__echo", `{"message":"hello"}`, "hello"},
	"time":                {"mcp__time__current_time", `{"format":"YYYY-MM-DD","timezone":"UTC"}`, "20"},
	"memory":              {"mcp__memory__read_graph", `{}`, "entities"},
	"filesystem":          {"mcp__filesystem__list_allowed_directories", `{}`, "work"},
	"sequential-thinking": {"mcp__sequential-thinking__sequentialthinking", `{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber"},
	"dbhub":               {"mcp__dbhub__execute_sql", `{"sql":"SELECT 1 AS one"}`, "one"},
}

func callReal(t *testing.T, r *rig, name string) {
	t.Helper()
	c, ok := realCalls[name]
	if !ok {
		return
	}
	res := r.Call(c.tool, json.RawMessage(c.args))
	if res.Err != nil || !strings.Contains(res.Text(), c.want) {
		t.Errorf("%s = %.300q %v, want %q in it", c.tool, res.Text(), res.Err, c.want)
	}
}
