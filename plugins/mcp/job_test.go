package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call whose client does not come back with an answer ends, and its state is
// good for nothing afterwards.
func TestRule15_AParkedCallExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parking{jobs: map[string]*job{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		park := func() (*job, string) {
			j := &job{key: "k", ctx: ctx, cancel: cancel}
			state, err := p.park(j, &ask{reply: make(chan mcp.InputResponseMap, 1)})
			if err != nil {
				t.Fatal(err)
			}
			return j, state
		}
		job, state := park()
		time.Sleep(jobExpiry - time.Second)
		if got, err := p.resume("k", state, nil); err != nil || got != job || ctx.Err() != nil {
			t.Fatalf("in time: %v, %v, its context: %v", got, err, ctx.Err())
		}
		_, state = park()
		time.Sleep(jobExpiry + time.Second)
		if _, err := p.resume("k", state, nil); err == nil || ctx.Err() == nil {
			t.Errorf("too late: %v, its context: %v", err, ctx.Err())
		}
	})
}
