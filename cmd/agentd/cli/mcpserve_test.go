//go:build unix

package cli_test

import (
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
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
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

// Over HTTP the same; what comes from a web page is turned away.
func TestMCP_ServesOverHTTP(t *testing.T) {
	w := newWorkplace(t, "agent.yml", plainConfig, "a.txt", "hello from a file\n")
	d := w.sit(t, 200, "agentd", "mcp", "-c", "agent.yml", "--http", "127.0.0.1:0")
	d.sees(`serving MCP at http://\S+\s`)
	_, rest, _ := strings.Cut(d.raw(), "serving MCP at ")
	url := strings.Fields(rest)[0]

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
