package mcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
)

// status is the present state of a server, secrets left out.
func (p *projection) status() core.MCPStatus {
	s := p.server
	s.mu.Lock()
	st := core.MCPStatus{Name: s.name, State: s.state, Consent: s.held.status()}
	x, err := s.current, s.err
	notes := slices.Clone(s.warnings)
	notes = append(notes, s.tools.problems...)
	if c := st.Consent; c != nil {
		st.State = core.SourceHeld
		notes = append(notes, consentNotes(c)...)
		if err == nil { // the attempt is not over yet
			err = s.named(&heldError{s.name, s.held.what()})
		}
	}
	if s.loginURL != "" {
		notes = append(notes, "login needed: open "+s.loginURL)
	}
	s.mu.Unlock()
	if x != nil && x.alive() {
		st.Era = x.version()
		st.Started = x.began.Format(time.RFC3339)
		if x.proc != nil {
			st.PID = x.proc.PID()
			notes = append(notes, noiseNote(x)...)
		}
	} else if err != nil {
		// An error is shown while it explains something, and no longer.
		st.Error = err.Error()
	}
	p.mu.Lock()
	tools := p.tools
	p.mu.Unlock()
	alike := p.server.hub.names.like(p.c.Tools(), maps.Keys(tools)) // outside of mu: it looks at the registry
	p.mu.Lock()
	defer p.mu.Unlock()
	st.Tools = len(p.tools)
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		notes = append(notes, fmt.Sprintf("%s is held back: %s", printable(name), p.held[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(p.tools)) {
		w := p.tools[name]
		if w.fresh {
			notes = append(notes, fmt.Sprintf("%s is new: each call is asked about until one is allowed (agentd mcp accept %s)", name, s.name))
		}
		if raw := w.def.Name; name != core.MCPPrefix+s.name+"__"+raw {
			notes = append(notes, fmt.Sprintf("%s is %s", name, printable(raw)))
		}
		if others := alike[name]; len(others) > 0 {
			notes = append(notes, fmt.Sprintf("%s differs in case only from %s", name, strings.Join(others, ", ")))
		}
		if w.def.Hidden > 0 {
			notes = append(notes, fmt.Sprintf("%s has %d invisible characters in its texts", name, w.def.Hidden))
		}
	}
	st.Detail = strings.Join(notes, "\n")
	return st
}

// consentNotes say what would run and what was allowed.
func consentNotes(c *core.MCPConsent) []string {
	var notes []string
	for _, n := range []struct{ what, text string }{
		{"it would run: ", c.Runs}, {"it ran: ", c.Was}, {"program: ", c.Program}, {"program was: ", c.WasProgram},
	} {
		if n.text != "" {
			notes = append(notes, n.what+n.text)
		}
	}
	if c.Refused {
		notes = append(notes, "a person refused it")
	}
	return notes
}

func noiseNote(x *session) []string {
	n, last := x.proc.Noise()
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d lines on stdout were no messages, the last: %s", n, visible(last[len(last)-1]))}
}
