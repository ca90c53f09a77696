package mcp

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRule17_TheBellRingsOnceASet(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	first, second := &mcp.ServerSession{}, &mcp.ServerSession{}
	var b bell
	if !b.rings(first) {
		t.Error("silent before any set")
	}
	for range 2 {
		b.begin()
		if b.rings(first) {
			t.Error("it rang in the middle of a set")
		}
		b.end(server)
		if !b.rings(first) || !b.rings(second) {
			t.Error("silent after a set")
		}
		if b.rings(first) {
			t.Error("it rang twice for one set")
		}
	}
}
