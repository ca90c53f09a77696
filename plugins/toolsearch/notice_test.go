package toolsearch

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// warnings runs two steps under a config and returns the lines of the log.
func warnings(t *testing.T, cfg string, model llm.Info, tools ...core.Tool) []string {
	t.Helper()
	log := &logBuffer{}
	h := core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	set := core.Plugin[struct{}]{Name: "toolset", Apply: func(c *core.Context, _ struct{}) error { return define(c, tools...) }}
	f, err := core.Load(h.Root(), set, struct{}{})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err == nil {
		f, err = core.Load(h.Root(), Plugin, parse(t, cfg))
	}
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		list := slices.Clone(h.Root().Tools().List(core.Viewer{}))
		_, err := core.ToolSurface.Run(h.Root(), core.Surface{Tools: list, Model: model},
			func(_ context.Context, s core.Surface) (core.Surface, error) { return s, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(log.buf.String()), "\n")
}

func TestNoticesAreSaidOnce(t *testing.T) {
	big := many(30)
	for i := range big {
		big[i].Description = strings.Repeat("word ", 200)
	}
	big[0].Source = core.Source{Kind: core.FromMCP, Name: "office"}
	for name, c := range map[string]struct {
		cfg   string
		model llm.Info
		tools []core.Tool
		want  []string // in the one line
	}{
		"definitions of a tenth of the window": {`{"enabled":"off"}`, llm.Info{ContextWindow: 50_000}, big,
			[]string{"enabled", "mcp office 1", "plugin toolset 29", "window=50000"}},
		"a missing tool": {`{"alwaysDirectTools":["create_invoice_0","read_*"]}`, llm.Info{}, many(30),
			[]string{"tool=create_invoice_0", "create_invoice_00"}},
		"an empty group": {`{"groups":[{"name":"g","tools":["delete_invoice_1"]}]}`, llm.Info{}, many(30),
			[]string{"group=g", "delete_invoice_01"}},
		"no native deferral": {`{"reveal":"native"}`, llm.Info{Model: "m"}, many(30), []string{"reveal", "appended"}},
		"nothing":            {`{"enabled":"off"}`, llm.Info{ContextWindow: 500_000}, big, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lines := warnings(t, c.cfg, c.model, c.tools...)
			if c.want == nil {
				if lines[0] != "" {
					t.Errorf("got %q", lines)
				}
				return
			}
			if len(lines) != 1 {
				t.Fatalf("got %q", lines)
			}
			for _, want := range c.want {
				if !strings.Contains(lines[0], want) {
					t.Errorf("no %q in %s", want, lines[0])
				}
			}
		})
	}
}
