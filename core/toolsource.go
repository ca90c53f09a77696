package core

import "context"

type sourceKey struct {
	kind SourceKind
	name string
}

// A SourceControl tells the state of one source of tools.
type SourceControl struct {
	h   *Host
	key sourceKey
}

// Source lets the caller tell the state of a source (an MCP server), which is
// ready until it is set. It is an effect of the context's fiber: when that
// ends, nothing is known about the source any more.
func (t *Tools) Source(kind SourceKind, name string) (*SourceControl, error) {
	s := &SourceControl{t.c.host, sourceKey{kind, name}}
	return s, t.c.OnUndo("source "+name, func(context.Context) error {
		s.Set(SourceReady)
		return nil
	})
}

// Set makes the state known. Tools of a disabled source are hidden; those of
// one that is connecting or unavailable stay, marked.
func (s *SourceControl) Set(state SourceState) {
	r := &s.h.tools
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stateOf(s.key) == state {
		return
	}
	if r.sources == nil {
		r.sources = map[sourceKey]SourceState{}
	}
	r.sources[s.key] = state
	if state == SourceReady {
		delete(r.sources, s.key)
	}
	r.changed(s.h)
}

// stateOf is the state of a source; r.mu is held.
func (r *toolRegistry) stateOf(k sourceKey) SourceState {
	if s, ok := r.sources[k]; ok {
		return s
	}
	return SourceReady
}
