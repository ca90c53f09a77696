package toolsearch

import (
	"context"
	"slices"

	"github.com/agentd-host/agentd/core"
)

// view is what a call of one of our tools works on: what its viewer can find
// now, within what the step showed.
type view struct {
	split *split
	ses   *session // whose step the call belongs to; nil if to none
	shown map[string]bool
	mode  string // how a found tool is revealed; "" outside of a step
}

// view makes the view of a call. The tools of the step count, less those that
// the viewer may not see any more; a call that belongs to no step gets what
// the other listeners of the surface would show it.
func (l *layer) view(ctx context.Context, call core.Call) (*view, error) {
	v := call.Viewer
	visible := l.c.Tools().List(v)
	ses := l.sessions.peek(v.Session)
	if st := ses.current(call.Turn); st != nil {
		return &view{split: l.narrowed(st, v, visible), ses: ses, shown: st.shown, mode: st.reveal}, nil
	}
	probe := context.WithValue(ctx, probeKey{}, true)
	start := core.Surface{Viewer: v, Turn: call.Turn, Tools: slices.Clone(visible), DryRun: true}
	out, err := core.ToolSurface.Run(probe, start, unchanged)
	if err != nil {
		return nil, err
	}
	sp := l.split(l.catalogue(v, out.Tools), l.runtime.settings(), 0)
	return &view{split: sp}, nil
}

// unchanged is the end of a surface that starts with the viewer's list.
func unchanged(_ context.Context, s core.Surface) (core.Surface, error) { return s, nil }

// current is the step that a turn is in.
func (ses *session) current(turn string) *step {
	if ses == nil || turn == "" {
		return nil
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.step == nil || ses.step.turn != turn {
		return nil
	}
	return ses.step
}

// narrowed is a step's split without the tools that can't be seen any more.
func (l *layer) narrowed(st *step, v core.Viewer, visible []core.Tool) *split {
	if sameList(visible, st.visible) {
		return st.split
	}
	left := slices.DeleteFunc(slices.Clone(st.split.cat.input), func(t core.Tool) bool {
		_, ok := slices.BinarySearchFunc(visible, t, byName)
		return !ok
	})
	return l.split(l.catalogue(v, left), st.split.s, st.split.max)
}

// sameList tells whether two lists are one: the registry hands out the same
// one until something changes.
func sameList(a, b []core.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// state says whether the model has a tool before its eyes.
func (v *view) state(name string) string {
	if v.split.pass || v.shown[name] || !v.split.isDeferred(name) {
		return "visible"
	}
	return "deferred"
}
