package toolpolicy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
)

// BenchmarkCall is what one allowed call costs here: the decision, its record
// and the record of the outcome.
func BenchmarkCall(b *testing.B) {
	large := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 77_000) + `"}`)
	for _, bench := range []struct {
		name, args string
		tool       core.Tool
	}{
		{"read", `{"path":"docs/guide.md"}`, core.Tool{Name: "read_file", Traits: core.Traits{Effect: core.Read}}},
		{"write", `{"path":"docs/guide.md","text":"one line"}`, core.Tool{Name: "write_file", Traits: core.Traits{Effect: core.Write}}},
		{"untrusted server", `{"owner":"me","repo":"project","state":"open"}`, core.Tool{
			Name: "mcp__forge__list_issues", Source: core.Source{Kind: core.FromMCP, Name: "forge"}}},
		{"large schema", `{"query":"open issues"}`, core.Tool{Name: "search", Parameters: large, Traits: core.Traits{Effect: core.Read}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			h := newHouse(b, b.TempDir(), Config{}, bench.tool.Name+" = auto")
			h.define(bench.tool)
			tool, call := bench.tool, core.Call{ID: "call-1", Name: bench.tool.Name, Args: json.RawMessage(bench.args), Viewer: viewer, Turn: "turn1", Via: core.ViaModel}
			if tool.Parameters == nil {
				tool.Parameters = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
			}
			req := core.DecideRequest{Call: call, Tool: tool, Digest: core.ArgsDigest(tool.Name, call.Args)}
			p := h.admin.p
			b.ReportAllocs()
			for b.Loop() {
				d := p.Decide(h.c, req)
				if d.Verdict != core.Allow {
					b.Fatalf("got %+v", d)
				}
				h.must(p.decided(h.c, core.ToolDecision{Call: call, Tool: tool, Digest: req.Digest, Decision: d}))
				h.must(p.done(h.c, core.ToolOutcome{Call: call, Tool: tool, Entered: true, Duration: time.Millisecond}))
			}
		})
	}
}
