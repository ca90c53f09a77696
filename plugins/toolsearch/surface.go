package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// contextPart is the name of the listing's part in a request's context.
const contextPart = "toolsearch"

// surface rewrites what the other listeners settled: it is the outermost.
func (l *layer) surface(
	ctx context.Context, in core.Surface, next func(context.Context, core.Surface) (core.Surface, error),
) (core.Surface, error) {
	out, err := next(ctx, in)
	if err != nil || ctx.Value(probeKey{}) != nil {
		return out, err
	}
	s := l.runtime.settings()
	sp := l.split(l.catalogue(out.Viewer, out.Tools), s, out.Model.MaxTools)
	ses := l.sessionOf(&out, s)
	if !out.DryRun {
		l.notices.of(l.c, sp, &out)
	}
	if sp.pass {
		out.Tools = sp.cat.foreign.appendTo(sp.direct.appendTo(make([]core.Tool, 0, len(out.Tools))))
		ses.begin(&step{turn: out.Turn, split: sp, visible: l.c.Tools().List(out.Viewer)})
		return out, nil
	}
	l.show(ctx, &out, sp, ses)
	return out, nil
}

// show settles a step in which tools are deferred.
func (l *layer) show(ctx context.Context, out *core.Surface, sp *split, ses *session) {
	l.prepare(sp)
	text := l.listing(sp, out.Model.ContextWindow)
	ours := sp.bridgeTools(text)
	if text != "" && sp.s.listingPlace != placeDescription {
		out.Context = append(slices.Clip(out.Context), llm.NamedText(contextPart, text))
	}
	out.Tools = append(sp.cat.foreign.appendTo(sp.direct.appendTo(nil)), ours...)
	reveal := sp.revealFor(out.Model)
	room := len(sp.deferred)
	if out.Model.MaxTools > 0 {
		room = max(0, out.Model.MaxTools-len(out.Tools))
	}
	warm, preloaded := l.warmTools(ctx, out, sp, ses, reveal)
	shown := make(map[string]bool, len(out.Tools)+len(warm))
	switch reveal {
	case revealNative:
		out.Native = true
		first := preloaded[:min(len(preloaded), room)]
		out.Tools = append(out.Tools, first...)
		out.Deferred = sp.nativeWithout(first)
		referredTo(out.History, shown)
	case revealAppend:
		out.Tools = append(out.Tools, warm[max(0, len(warm)-room):]...)
	}
	for i := range out.Tools {
		shown[out.Tools[i].Name] = true
	}
	ses.begin(&step{
		turn: out.Turn, split: sp, reveal: reveal, visible: l.c.Tools().List(out.Viewer), shown: shown,
	})
}

// revealFor is the way in which a found tool gets into this model's requests.
func (sp *split) revealFor(m llm.Info) string {
	native := m.Capabilities.NativeDeferral
	switch {
	case sp.bridged:
		return revealBridge
	case native && (sp.s.reveal == revealAuto || sp.s.reveal == revealNative):
		return revealNative
	}
	return revealAppend
}

// nativeWithout is the tools for a provider's own deferral, less the few that
// are shown from the start.
func (sp *split) nativeWithout(first []core.Tool) []core.Tool {
	all := sp.native()
	if len(first) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t core.Tool) bool {
		return slices.ContainsFunc(first, func(f core.Tool) bool { return f.Name == t.Name })
	})
}

// warmTools brings a session's set up to date and returns its tools in the
// order found, and those of them that were preloaded, which stay for good.
func (l *layer) warmTools(
	ctx context.Context, out *core.Surface, sp *split, ses *session, reveal string,
) (warm, preloaded []core.Tool) {
	if ses == nil {
		return nil, nil
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	limits := sp.limits(reveal)
	recovered := ses.load(ctx, out.History, sp)
	reordered := ses.reorder(out.History, limits)
	switch {
	case out.DryRun:
	case recovered:
		l.saved(ses.save(ctx, touch{Kind: touchRecover, Names: ses.warm.names()}))
	case reordered:
		l.saved(ses.save(ctx, touch{Kind: touchOrder}))
	}
	if !out.DryRun {
		l.preload(ctx, out, sp, ses)
	}
	ses.free(l.c.Tools(), out.Viewer, sp)
	ses.warm.cut(limits)
	ses.base, ses.recent = ses.warm.clone(), nil
	return sp.deferred.pick(ses.warm.names()), sp.deferred.pick(ses.preload.Names)
}

// limits are those of a session's set in a step.
func (sp *split) limits(reveal string) limits {
	return limits{sp.s.maxKeep, reveal == revealAppend, sp.isDeferred}
}

// free drops tools that are gone. One that a step merely does not show, or
// that became direct, stays for when that changes back.
func (ses *session) free(registry *core.Tools, v core.Viewer, sp *split) {
	ses.warm.keep(func(name string) bool {
		return sp.found.has(name) || registry.Why(v, name).Visible
	})
}

// sessionOf is the session of a step, nil without one. A step that is only
// measured gets a copy.
func (l *layer) sessionOf(out *core.Surface, s *settings) *session {
	id := out.Viewer.Session
	switch {
	case id == "":
		return nil
	case !out.DryRun:
		return l.sessions.get(id, out.Turn, s.maxSessions)
	}
	if held := l.sessions.peek(id); held != nil {
		return held.dry()
	}
	return &session{id: id}
}

func (ses *session) dry() *session {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return &session{
		id: ses.id, loaded: ses.loaded, warm: ses.warm.clone(), base: ses.base.clone(),
		recent: slices.Clone(ses.recent), preload: ses.preload,
	}
}

// begin notes what a step shows.
func (ses *session) begin(st *step) {
	if ses == nil {
		return
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.step == nil || ses.step.turn != st.turn {
		ses.streak = 0
	}
	ses.step = st
}

// bridgeTools are our tools as this step shows them: the search tool says
// what is behind it, since models do not call a searcher that is vague.
func (sp *split) bridgeTools(listing string) []core.Tool {
	inPlace := sp.s.listingPlace == placeDescription && listing != ""
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.bridge != nil && !inPlace {
		return sp.bridge
	}
	var ours []core.Tool
	for _, name := range sp.s.bridges() {
		registered, ok := sp.cat.bridge.find(name)
		if !ok {
			continue // policy off
		}
		t := *registered
		if isSearch(name) {
			t.Description += " " + sp.callable() + " " + sp.sentence()
			t.Parameters = shownSearchParameters
			if inPlace {
				t.Description += "\n\n" + listing
			}
		}
		if name == callName {
			t.Parameters = shownCallParameters
		}
		ours = append(ours, t)
	}
	if !inPlace {
		sp.bridge = ours
	}
	return ours
}

// callable says how a found tool is called.
func (sp *split) callable() string {
	if sp.bridged {
		return callableByTheBridge
	}
	return callableNextStep
}

// mostGroupsNamed bounds the sentence about what is behind the search.
const mostGroupsNamed = 40

// sentence says how many tools there are to find, and where from.
func (sp *split) sentence() string {
	var parts []string
	rest := 0
	for i, name := range sp.groups.names {
		switch n := len(sp.behind[i]); {
		case n == 0:
		case len(parts) == mostGroupsNamed:
			rest += n
		default:
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("others %d", rest))
	}
	return fmt.Sprintf("Behind it are %d tools: %s.", len(sp.deferred), strings.Join(parts, ", "))
}
