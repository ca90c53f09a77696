//go:build unix

package cli_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func toolNames(t *testing.T, session *mcp.ClientSession) string {
	t.Helper()
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return " " + strings.Join(names, " ") + " "
}

func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	return connectAs(t, transport, "", nil)
}

// connectAs connects a client that speaks one revision only, unless it is
// empty.
func connectAs(t *testing.T, transport mcp.Transport, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// agentd mcp on stdin and stdout is a server whose tools stand under policy.
func TestMCP_ServesOnStdio(t *testing.T) {
	w := newWorkplace(t, "a.txt", "hello from a file\n",
		"agent.yml", "tools: {policy: {search_files: off}}\n"+plainConfig)
	cmd := w.command(t, "agentd", "mcp", "-c", "agent.yml")
	session := connect(t, &mcp.CommandTransport{Command: cmd})
	names := toolNames(t, session)
	if !strings.Contains(names, " read_file ") || strings.Contains(names, " search_files ") {
		t.Errorf("tools: %s", names)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": "a.txt"}})
	if err != nil || res.IsError || !strings.Contains(textOf(res), "hello from a file") {
		t.Errorf("read_file: %v, %v", res, err)
	}
	res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_command", Arguments: map[string]any{"command": "touch made"}})
	if err == nil && !res.IsError {
		t.Errorf("run_command ran, though nobody could be asked: %s", textOf(res))
	}
	if _, err := os.Stat(w.dir + "/made"); err == nil {
		t.Error("the command ran")
	}
	if err := session.Close(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0 when the client leaves", code)
	}
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// serveMCP starts agentd mcp over HTTP and gives its address.
func (w workplace) serveMCP(t *testing.T) (*person, string) {
	t.Helper()
	d := w.sit(t, 200, "agentd", "mcp", "-c", "agent.yml", "--http", "127.0.0.1:0")
	d.sees(`serving MCP at http://\S+\s`)
	_, rest, _ := strings.Cut(d.raw(), "serving MCP at ")
	return d, strings.Fields(rest)[0]
}

// Over HTTP the same; what comes from a web page is turned away.
func TestMCP_ServesOverHTTP(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	d, url := w.serveMCP(t)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", "https://evil.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("from a web page: %s", resp.Status)
	}

	session := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	if names := toolNames(t, session); !strings.Contains(names, " read_file ") {
		t.Errorf("tools: %s", names)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	d.stops()
}

// An edit of agent.yml reaches clients that are connected: they are told once,
// and the list is the new one.
func TestRule17_ClientsAreToldOnceOfAnEdit(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig)
	d, url := w.serveMCP(t)
	told := map[string]chan struct{}{"2025-11-25": make(chan struct{}, 100), "2026-07-28": make(chan struct{}, 100)}
	sessions := map[string]*mcp.ClientSession{}
	for revision, changes := range told {
		sessions[revision] = connectAs(t, &mcp.StreamableClientTransport{Endpoint: url}, revision, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changes <- struct{}{} }})
	}
	off := ""
	for n, tool := range []string{"read_file", "write_file", "search_files"} {
		off += tool + ": off, "
		w.write(t, "agent.yml", "tools: {policy: {"+off+"}}\n"+plainConfig)
		for revision, session := range sessions {
			eventually(t, "list_changed", func() bool { return len(told[revision]) > 0 })
			<-told[revision]
			if names := toolNames(t, session); strings.Contains(names, " "+tool+" ") {
				t.Errorf("%s: after edit %d the tools are %s", revision, n+1, names)
			}
			// A notification too many would have come before the next edit's.
			if more := len(told[revision]); more != 0 {
				t.Errorf("%s: told %d times more than of %d edits", revision, more, n+1)
			}
		}
	}
	for _, session := range sessions {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	d.stops()
}
