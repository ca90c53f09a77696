package mcp

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
// It logs a table, one row a server.
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
	logRow(t, "server", "era", "tools", "start", "stop", "call")
	for _, l := range list {
		if len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) { checkReal(t, dir, l, overStdio) })
		if l.Name == "everything" {
			t.Run("http", func(t *testing.T) { checkReal(t, dir, l, overHTTP) })
			t.Run("sse", func(t *testing.T) { checkReal(t, dir, l, overSSE) })
		}
	}
}

func logRow(t *testing.T, server, era, tools, start, stop, call string) {
	t.Logf("ROW %-20s %-10s %9s %8s %8s  %s", server, era, tools, start, stop, call)
}

// A transport says how to reach a server: the one that the list's command
// speaks, or one that the server listens with when told so.
type transport struct{ suffix, argument, path, kind string }

var (
	overStdio = transport{}
	overHTTP  = transport{"/http", "streamableHttp", "/mcp", "http"}
	overSSE   = transport{"/sse", "sse", "/sse", "sse"}
)

func checkReal(t *testing.T, dir string, l listedServer, via transport) {
	name := l.Name + via.suffix
	entry := filepath.Join(dir, strings.ReplaceAll(l.Package, "/", "+"), l.Entry)
	if _, err := os.Stat(entry); err != nil {
		logRow(t, name, "", "", "", "", "does not install")
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
	if via != overStdio {
		cfg = listening(t, cfg, via)
	}
	began := time.Now()
	r := start(t, map[string]ServerConfig{l.Name: cfg})
	var s core.MCPStatus
	eventually(t, "an outcome", func() bool {
		s = r.status(l.Name)
		return s.State == core.SourceReady && s.Era != "" || s.Error != ""
	})
	if s.Error != "" {
		logRow(t, name, "", "", "", "", "does not start: "+s.Error)
		t.Fatalf("it does not start: %s", s.Error)
	}
	took := time.Since(began)
	for _, tool := range r.names("mcp__") {
		checkFit(t, r.Tool(tool).Parameters)
	}
	called := callReal(t, r, l.Name, in)
	began = time.Now()
	if err := r.Host.Close(t.Context()); err != nil {
		t.Error(err)
	}
	logRow(t, name, s.Era, fmt.Sprintf("%d of %d", s.Tools, l.Tools), millis(took), millis(time.Since(began)), called)
	if s.Tools < l.Tools { // some show more to clients that can do more
		t.Errorf("%d tools, the list says %d", s.Tools, l.Tools)
	}
	if s.PID != 0 && syscall.Kill(-s.PID, 0) == nil {
		t.Errorf("processes of the group %d are left", s.PID)
	}
}

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// listening starts the server by itself, on a free port, and gives the entry
// by which agentd reaches it there.
func listening(t *testing.T, cfg ServerConfig, via transport) ServerConfig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	_ = l.Close()
	cmd := exec.Command(cfg.Command, append(cfg.Args, via.argument)...)
	cmd.Dir = cfg.Cwd
	cmd.Env = append(os.Environ(), "HOME="+cfg.Cwd, fmt.Sprintf("PORT=%d", addr.Port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "it listens", func() bool {
		conn, err := net.Dial("tcp", addr.String())
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return ServerConfig{URL: "http://" + addr.String() + via.path, Type: via.kind}
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
	work := filepath.Join(scratch, "work")
	err := os.Mkdir(work, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "a.drawio"), []byte(`<mxfile><diagram name="first page"/></mxfile>`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return scratch
}

// offline says what each server can do with dummy keys and no network: a call
// and what its result holds, or what it would take.
var offline = map[string]struct{ tool, args, want, lacks string }{
	"azure":               {tool: "get_azure_bestpractices", args: `{"intent":"list","learn":true}`, want: "bestpractices"},
	"azure-all":           {tool: "azureterraformbestpractices_get", args: `{}`, want: "erraform"},
	"azure-devops":        {lacks: "an account"},
	"brave":               {lacks: "network and a key"},
	"chart":               {lacks: "network"},
	"chrome-devtools":     {lacks: "a browser"},
	"circleci":            {lacks: "an account"},
	"context7":            {lacks: "network"},
	"dbhub":               {tool: "execute_sql", args: `{"sql":"SELECT 1 AS one"}`, want: "one"},
	"desktop-commander":   {tool: "list_directory", args: `{"path":"${SCRATCH}"}`, want: "petstore.json"},
	"drawio":              {tool: "list_pages", args: `{"path":"${SCRATCH}/work/a.drawio"}`, want: "first page"},
	"everything":          {tool: "echo", args: `{"message":"hello"}`, want: "hello"},
	"excel":               {lacks: "a workbook to write into"},
	"figma":               {lacks: "network and a key"},
	"filesystem":          {tool: "list_allowed_directories", args: `{}`, want: "work"},
	"firecrawl":           {lacks: "network and a key"},
	"git":                 {tool: "git_init", args: `{"path":"${SCRATCH}/work"}`, want: "work"},
	"github":              {lacks: "network and a key"},
	"gitlab":              {lacks: "network and a key"},
	"google-calendar":     {lacks: "an account"},
	"k8s-go":              {tool: "configuration_view", args: `{}`, want: "clusters"},
	"kubernetes":          {tool: "ping", args: `{}`, want: ""},
	"lark":                {lacks: "network and a key"},
	"mantine":             {lacks: "network"},
	"memory":              {tool: "read_graph", args: `{}`, want: "entities"},
	"mermaid":             {lacks: "a browser"},
	"mongodb":             {tool: "list-connections", args: `{}`, want: "onnection"},
	"n8n":                 {tool: "tools_documentation", args: `{}`, want: "search_nodes"},
	"n8n-full":            {tool: "tools_documentation", args: `{}`, want: "search_nodes"},
	"notion":              {lacks: "network and a key"},
	"openapi":             {lacks: "the service that it fronts"},
	"playwright":          {lacks: "a browser"},
	"playwright-all":      {lacks: "a browser"},
	"sequential-thinking": {tool: "sequentialthinking", args: `{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, want: "thoughtNumber"},
	"slack":               {lacks: "network and a key"},
	"system-monitor":      {tool: "get-system-info", args: `{}`, want: "cpu"},
	"tavily":              {lacks: "network and a key"},
	"time":                {tool: "current_time", args: `{"format":"YYYY-MM-DD","timezone":"UTC"}`, want: "20"},
}

// callReal makes the call that works offline and says how it went.
func callReal(t *testing.T, r *rig, server string, in func(string) string) string {
	t.Helper()
	c, ok := offline[server]
	if !ok {
		t.Errorf("say in the table offline what %s can do", server)
	}
	if c.tool == "" {
		return "none, it needs " + c.lacks
	}
	res := r.Call(publicName(server, c.tool), json.RawMessage(in(c.args)))
	if res.Err != nil || !strings.Contains(res.Text(), c.want) {
		t.Errorf("%s = %.300q %v, want %q in it", c.tool, res.Text(), res.Err, c.want)
		return c.tool + ": error"
	}
	return c.tool + ": ok"
}
