package mcp

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A message goes to the client whose call it must belong to, to all if there
// is no call, and to nobody if it may be another client's.
func TestRule15_MessagesReachNoOtherClient(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	var toAll atomic.Int64
	stop := r.service.hub.watch(&watcher{func(_, method string, _ []byte) {
		if method == "notifications/message" { // a server that has just come tells of its lists, too
			toAll.Add(1)
		}
	}})
	defer stop()
	p, _ := r.service.hub.find("a")
	for _, tt := range []struct{ calls, told, toAll int64 }{{0, 0, 1}, {1, 1, 0}, {2, 0, 0}} {
		x, told := p.server.newSession(), int64(0)
		toAll.Store(0)
		for i := range tt.calls {
			x.flights[string(rune('a'+i))] = &flight{caller: &host{}, notify: func(string, json.RawMessage) { told++ }}
		}
		msg := &mcp.LoggingMessageParams{Level: "info", Data: "a secret of the call"}
		if call := x.heard(encode(msg)); call != "" {
			msg.Meta = mcp.Meta{wire.CallKey: call}
		}
		clear(x.flights) // the calls may be over when the SDK has read it
		x.logged(msg)
		if told != tt.told || toAll.Load() != tt.toAll {
			t.Errorf("%d calls: told %d, all %d times, want %d and %d", tt.calls, told, toAll.Load(), tt.told, tt.toAll)
		}
	}
}
