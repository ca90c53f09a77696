package toolpolicy

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/agentd-host/agentd/core"
)

// maxSeen bounds a cache; a host with more tools only decides slower.
const maxSeen = 1 << 15

// cacheKey tells subjects apart; a tool may be looked at under two effects.
type cacheKey struct {
	name       string
	effect     core.Effect
	permission bool
}

// cache remembers what the rules come down to, by subject. Readers of a settled
// cache take no lock: new entries gather beside the published map and are
// merged into it once they were missed as often as there are entries, so that
// filling it costs a constant for each.
type cache struct {
	published atomic.Pointer[map[cacheKey]*resolved]

	mu     sync.Mutex // guards the fields below
	fresh  map[cacheKey]*resolved
	misses int
}

func (c *cache) get(k cacheKey) *resolved {
	if m := c.published.Load(); m != nil {
		if r := (*m)[k]; r != nil {
			return r
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.fresh[k]
	if r != nil {
		c.missed()
	}
	return r
}

func (c *cache) put(k cacheKey, r *resolved) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh == nil {
		c.fresh = map[cacheKey]*resolved{}
	}
	c.fresh[k] = r
	c.missed()
}

// missed publishes the fresh entries when it has become worth it. mu is held.
func (c *cache) missed() {
	var size int
	if m := c.published.Load(); m != nil {
		size = len(*m)
	}
	if c.misses++; c.misses < size {
		return
	}
	merged := make(map[cacheKey]*resolved, size+len(c.fresh))
	if m := c.published.Load(); m != nil && size+len(c.fresh) <= maxSeen {
		maps.Copy(merged, *m)
	}
	maps.Copy(merged, c.fresh)
	c.published.Store(&merged)
	c.fresh, c.misses = nil, 0
}
