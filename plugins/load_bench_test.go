package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
	"github.com/agentd-host/agentd/plugins/toolsearch"
)

// BenchmarkLoadAndIndex is the time from an empty host to the first answered
// search over the tools of real servers: each is met over HTTP on this
// machine, its list read, normalised, pinned, named, registered and indexed.
func BenchmarkLoadAndIndex(b *testing.B) {
	servers := catalogueServers(b)
	b.ReportAllocs()
	var tools int
	for b.Loop() {
		b.StopTimer()
		h := core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		c, state := h.Root(), b.TempDir()
		if err := core.Environment.Provide(c, core.Paths{Dir: filepath.Join(state, "project"), State: state}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		loadPlugin(b, c, toolpolicy.Plugin, toolpolicy.Config{})
		loadPlugin(b, c, toolsearch.Plugin, toolsearch.Config{})
		loadPlugin(b, c, mcp.Plugin, mcp.Config{Servers: servers, Starts: 8})
		loadPlugin(b, c, core.Plugin[struct{}]{Name: "first", Needs: core.Needs(core.MCP, toolsearch.Service), Apply: func(c *core.Context, _ struct{}) error {
			status, _ := core.MCP.Get(c)
			search, _ := toolsearch.Service.Get(c)
			for !allReady(status.Status(c), len(servers)) {
				time.Sleep(time.Millisecond)
			}
			tools = len(c.Tools().List(c.Viewer(core.Viewer{})))
			found, err := search.Find(c, c.Viewer(core.Viewer{}), toolsearch.Query{Text: "create a pull request", Limit: 5})
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("nothing found among %d tools", tools)
			}
			return err
		}}, struct{}{})
		b.StopTimer()
		if err := h.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(tools), "tools")
}

func loadPlugin[C any](b *testing.B, c *core.Context, p core.Plugin[C], cfg C) {
	b.Helper()
	f, err := core.Load(c, p, cfg)
	if err == nil {
		err = f.Ready(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
}

func allReady(servers []core.MCPStatus, want int) bool {
	ready := 0
	for _, s := range servers {
		if s.State == core.SourceReady && s.Era != "" {
			ready++
		}
	}
	return ready == want
}

// catalogueServers serves what real servers listed, each at an address of its
// own; of those that were asked in several modes only one.
func catalogueServers(b *testing.B) map[string]mcp.ServerConfig {
	b.Helper()
	files, _ := filepath.Glob("../../shared/mcp/catalogs/*.json")
	if len(files) == 0 {
		b.Skip("no catalogues of real servers beside the repository")
	}
	lists, out := map[string]json.RawMessage{}, map[string]mcp.ServerConfig{}
	url := serveRaw(b, func(path, method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return fmt.Sprintf(`{"tools":%s}`, lists[path])
		}
		return ""
	})
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "azure" || name == "playwright" || name == "n8n-full" {
			continue
		}
		data, err := os.ReadFile(file)
		var c struct{ Tools json.RawMessage }
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			b.Fatal(err)
		}
		lists[name] = c.Tools
		out[name] = mcp.ServerConfig{URL: url + "/" + name, Era: "legacy"}
	}
	return out
}
