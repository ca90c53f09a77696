//go:build linux

package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkGateway measures calls through `agentd mcp --http` to a server over
// stdio, with all of agentd's standard plugins, policy and audit included, and
// calls to the same server over a pipe of one's own. The gateway is a process
// of its own; clients share the machine with it. MCP_PEER, the URL of
// another gateway in front of the same kind of server, is measured likewise.
func BenchmarkGateway(b *testing.B) {
	program := cmp.Or(os.Getenv("MCP_GATEWAY"), buildAgentd(b))
	b.Run("direct", benchmarkDirect)
	g := startGateway(b, program, 0)
	for _, mount := range []string{"merged", "transparent"} {
		url, tool := g.url, "mcp__up__echo"
		if mount == "transparent" {
			url, tool = g.url+"/servers/up", "echo"
		}
		for _, n := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", mount, n), func(b *testing.B) {
				before := g.cpu(b)
				benchmarkCalls(b, url, tool, n)
				b.ReportMetric(float64((g.cpu(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
	if peer := os.Getenv("MCP_PEER"); peer != "" {
		for _, n := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("peer/clients=%d", n), func(b *testing.B) { benchmarkCalls(b, peer, "echo", n) })
		}
	}
}

// BenchmarkGatewayMemory reports the resident memory of a gateway with 800
// tools: when it serves, after a client has listed and called them, and after
// as many clients as iterations have come, and never said goodbye.
func BenchmarkGatewayMemory(b *testing.B) {
	g := startGateway(b, buildAgentd(b), 800)
	ready := g.rss(b)
	first := newLoadClient(b, g.url)
	first.post(b, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	first.call(b, "mcp__up__echo")
	used := g.rss(b)
	for b.Loop() {
		first.again(b)
	}
	b.ReportMetric(ready, "MiB-ready")
	b.ReportMetric(used, "MiB-used")
	b.ReportMetric(g.rss(b), "MiB-after")
}

func buildAgentd(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "agentd")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/agentd").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// A gatewayProcess is an agentd that serves one fake server.
type gatewayProcess struct {
	url string
	pid int
}

func startGateway(b *testing.B, program string, tools int) *gatewayProcess {
	b.Helper()
	dir := b.TempDir()
	name, args, env := fake.Command("-tools", fmt.Sprint(tools))
	config, err := json.Marshal(map[string]any{
		"tools": map[string]any{"policy": map[string]string{"mcp__*": "auto"}},
		"plugins": map[string]any{
			"toolpolicy": map[string]any{},
			"mcp":        map[string]any{"servers": map[string]any{"up": map[string]any{"command": name, "args": args, "env": env}}},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.yml"), config, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "-c", filepath.Join(dir, "agent.yml"), "mcp", "--http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "AGENTD_HOME="+filepath.Join(dir, "home"))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	address := regexp.MustCompile(`serving MCP at (http\S+)`)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return &gatewayProcess{url: m[1], pid: cmd.Process.Pid}
		}
	}
	b.Fatal("the gateway ended before it served")
	return nil
}

// cpu is the processor time that the process has used.
func (g *gatewayProcess) cpu(b *testing.B) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(after)
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime, 100 a second
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// rss is the resident memory of the process in MiB.
func (g *gatewayProcess) rss(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.pid))
	if err != nil {
		b.Fatal(err)
	}
	var kib float64
	_, after, _ := strings.Cut(string(data), "VmRSS:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func benchmarkDirect(b *testing.B) {
	name, args, env := fake.Command()
	cmd := exec.Command(name, args...)
	for k, v := range env {
		cmd.Env = append(cmd.Environ(), k+"="+v)
	}
	cs, err := mcp.NewClient(implementation, nil).Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cs.Close() }()
	p := &mcp.CallToolParams{Name: "echo", Arguments: map[string]string{"text": "hi"}}
	for b.Loop() {
		if _, err := cs.CallTool(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkCalls spreads b.N calls over clients and reports how long they
// took.
func benchmarkCalls(b *testing.B, url, tool string, clients int) {
	callers := make([]*loadClient, clients)
	for i := range callers {
		callers[i] = newLoadClient(b, url)
		callers[i].call(b, tool)
	}
	took := make([][]time.Duration, clients)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var all sync.WaitGroup
	for i, c := range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				c.call(b, tool)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	sorted := slices.Concat(took...)
	slices.Sort(sorted)
	b.ReportMetric(float64(len(sorted))/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds()), "p99-us")
}

// A loadClient is a client that costs little: it knows what it will be told.
type loadClient struct {
	client  *http.Client
	url     string
	session string
}

func newLoadClient(b *testing.B, url string) *loadClient {
	tr := &http.Transport{}
	b.Cleanup(tr.CloseIdleConnections)
	c := &loadClient{client: &http.Client{Transport: tr}, url: url}
	c.again(b)
	return c
}

// again begins a new session, forgetting the one before.
func (c *loadClient) again(b *testing.B) {
	c.session = ""
	c.post(b, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`)
	c.post(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *loadClient) call(b *testing.B, tool string) {
	body := c.post(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"text":"hi"}}}`)
	if !bytes.Contains(body, []byte("echo: hi")) {
		b.Errorf("answer: %.300s", body)
	}
}

func (c *loadClient) post(b *testing.B, body string) []byte {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer resp.Body.Close()
	if c.session == "" {
		c.session = resp.Header.Get("Mcp-Session-Id")
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		b.Errorf("%s: %v\n%.300s", resp.Status, err, data)
	}
	return data
}
