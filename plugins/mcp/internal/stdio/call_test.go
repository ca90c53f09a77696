package stdio

import (
	"encoding/json"
	"testing"

	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
)

// BenchmarkCall is one call of a tool over the pipes, what is allocated on
// this side of them.
func BenchmarkCall(b *testing.B) {
	c := wire.NewConn(start(b, nil))
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			if _, err := c.Read(b.Context()); err != nil {
				return
			}
		}
	}()
	params := json.RawMessage(`{"name":"echo","arguments":{"text":"hi"},"_meta":{"progressToken":"t"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(b.Context(), "tools/call", params, &wire.Tap{ID: "t"}); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close()
	<-read
}
