package toolsearch

import (
	"context"
	"slices"

	"github.com/agentd-host/agentd/core"
)

// preloadTries is how often a session's preload is tried.
const preloadTries = 2

// preload warms the tools that fit a session's first message, once. The
// session's mu is held.
func (l *layer) preload(ctx context.Context, out *core.Surface, sp *split, ses *session) {
	s := sp.s
	if !s.preload.Enabled || out.First == "" || ses.preload.Done || ses.preload.Tries >= preloadTries {
		return
	}
	if s.preset == presetDSH && s.matcher == nil {
		if l.notices.first("preload") {
			l.c.Logger().Warn("preload does nothing without a matcher", "preset", s.preset, "option", "matcher")
		}
		return
	}
	ses.preload.Tries++
	k := s.keep(max(s.preload.TopK, 1))
	r := l.rank(ctx, sp, out.First, k)
	if s.matcher != nil && r.mode != modeRerank {
		l.saved(ses.save(ctx, touch{Kind: touchFailed}))
		return
	}
	var names []string
	for _, h := range r.hits {
		if name := h.Document.Name; len(names) < k && sp.isDeferred(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	ses.preload.Done, ses.preload.Names = true, names
	t := touch{Kind: touchPreload, Names: names}
	ses.warm.touch(names, sp.limits(revealNative))
	l.saved(ses.save(ctx, t))
}
