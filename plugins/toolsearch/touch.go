package toolsearch

import (
	"context"
	"slices"

	"github.com/agentd-host/agentd/core"
)

// toolDone learns from the final result of a call which tools are in use: a
// search that a hook blocked found nothing.
func (l *layer) toolDone(ctx context.Context, o core.ToolOutcome) error {
	ses := l.sessions.peek(o.Call.Viewer.Session)
	if ses == nil || o.Call.Via == core.ViaPerson {
		return nil
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	st := ses.step
	if st == nil {
		return nil
	}
	l.log.outcome(ses, o)
	t := touched(o)
	t.Names = slices.DeleteFunc(t.Names, func(n string) bool { return !st.split.isDeferred(n) })
	if len(t.Names) == 0 || st.split.pass {
		return nil
	}
	ses.apply(t, st.split.limits(st.reveal))
	return ses.save(ctx, t)
}

// touched says which tools a call speaks for.
func touched(o core.ToolOutcome) touch {
	t := touch{CallID: o.Call.ID}
	name := o.Call.Name
	switch {
	case !o.Entered:
	case isSearch(name):
		t.Kind = touchSearch
		if o.Result.Err == nil {
			t.Names = namesIn(o.Result.Text())
		}
	case name == describeName:
		t.Kind = touchDescribe
		if o.Result.Err == nil {
			t.Names = namesIn(o.Result.Text())
		}
	case isBridge(name): // the inner call speaks for itself
	default:
		t.Kind, t.Names = touchCall, []string{name}
	}
	return t
}

// clear forgets found tools when the messages of their session are cleared,
// after that succeeded.
func (l *layer) clear(
	ctx context.Context, r core.ClearRequest,
	next func(context.Context, core.ClearRequest) (core.ClearReport, error),
) (core.ClearReport, error) {
	report, err := next(ctx, r)
	if err != nil || !clears(r) {
		return report, err
	}
	l.sessions.forget(r.Session, r.All)
	return report, nil
}

// clears tells whether a request is about found tools.
func clears(r core.ClearRequest) bool {
	return r.Wants(core.MemoryMessages) || r.Wants(pluginName)
}
