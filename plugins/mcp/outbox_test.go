package mcp

import (
	"bytes"
	"testing"
)

// A client that does not read, and a server that does not stop talking, fill no
// memory; a first notification is taken whatever its size.
func TestRule15_WhatAClientDoesNotReadIsBounded(t *testing.T) {
	for _, size := range []int{1, 1 << 10, 2 * maxOutbox} {
		o := newOutbox(t.Context(), nil, "p")
		o.sending = true // and stuck
		params := bytes.Repeat([]byte("1"), size)
		for range 3 * maxOutbox / size {
			o.put("notifications/progress", params)
		}
		o.put("notifications/progress", params)
		held := 0
		for _, n := range o.queue {
			held += len(n.method) + len(n.params)
		}
		if len(o.queue) == 0 || len(o.queue) > 1 && held > maxOutbox {
			t.Errorf("%d of %d bytes each wait, %d altogether", len(o.queue), size, held)
		}
	}
}
