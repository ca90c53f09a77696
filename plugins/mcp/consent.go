package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/mcp/internal/consent"
	"github.com/agentd-host/agentd/plugins/mcp/internal/stdio"
)

// A consents decides whether the program of a server may start. What counts
// as consent is told by package consent.
type consents struct {
	hub      *hub
	store    *consent.Store
	programs consent.Programs
	config   string        // whose servers these are
	asking   chan struct{} // taken by the one question that is open
}

func newConsents(h *hub, paths core.Paths) *consents {
	return &consents{hub: h, store: consentStore(paths.State), config: realConfig(paths.Config), asking: make(chan struct{}, 1)}
}

func consentStore(state string) *consent.Store {
	if state == "" {
		return consent.Open("")
	}
	return consent.Open(filepath.Join(state, "mcp", "consent.json"))
}

// realConfig is the one name of a configuration file.
func realConfig(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		return real
	}
	return path
}

// Consent records that a person, by name, saw the command lines of servers and
// wants them started under the configuration of paths. Entries that start no
// program are left out, and secrets are out of what is kept. It is for commands
// that showed them to him, and may be called while a daemon runs, which sees it
// within seconds.
func Consent(paths core.Paths, by string, servers map[string]ServerConfig, secrets []string) error {
	known := func() []string { return withoutPaths(secrets) }
	var programs consent.Programs
	var subjects []consent.Subject
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		cfg := servers[name]
		if cfg.Command == "" {
			continue
		}
		// One that can't be found yet is consented to all the same.
		sub, _ := subjectOf(realConfig(paths.Config), name, cfg, &programs)
		sub.Shown = cfg.redactor(known)(sub.Line.String())
		subjects = append(subjects, sub)
	}
	if len(subjects) == 0 {
		return nil
	}
	return consentStore(paths.State).Adopt(by, subjects...)
}

// CommandLine is what the entry runs as a person reads it, secrets left out;
// empty if it runs nothing.
func (c ServerConfig) CommandLine() string {
	if c.Command == "" {
		return ""
	}
	return c.redactor(func() []string { return nil })(c.line().String())
}

func (c ServerConfig) line() consent.Line {
	return consent.Line{Command: c.Command, Args: c.Args, Env: slices.Sorted(maps.Keys(c.Env)), Dir: c.Cwd}
}

func (c ServerConfig) command() stdio.Command {
	return stdio.Command{Name: c.Command, Args: c.Args, Env: c.Env, Dir: c.Cwd}
}

// subjectOf is what the entry starts now. With an error its program is not
// known.
func subjectOf(config, name string, cfg ServerConfig, programs *consent.Programs) (consent.Subject, error) {
	sub := consent.Subject{Config: config, Server: name, Line: cfg.line(), Key: cfg.Command}
	path, err := cfg.command().Path()
	if err != nil {
		return sub, err
	}
	search, own := cfg.Env["PATH"]
	if !own {
		search = os.Getenv("PATH")
	}
	sub.Program, sub.Key = programs.Find(path, search), consent.Key(cfg.Command, path)
	return sub, nil
}

// check says what a server would start and what of that is new. A nil change
// lets it start.
func (c *consents) check(s *server) (consent.Subject, *consent.Change, error) {
	sub, err := subjectOf(c.config, s.name, s.cfg, &c.programs)
	if err != nil {
		return sub, nil, err
	}
	sub.Shown = s.redact(sub.Line.String())
	change, err := c.store.Check(sub)
	if err != nil {
		return sub, nil, fmt.Errorf("nobody can tell what was consented to: %w", err)
	}
	if change == nil || change.Line || s.cfg.Pin == "block" {
		return sub, change, nil
	}
	// The entry says that changes behind the same definition are no question.
	if s.cfg.Pin == "warn" {
		s.log.Warn("MCP server's program changed", "server", s.name, "program", sub.Program.String(), "was", change.WasProgram.String())
	}
	return sub, nil, c.store.Allow(sub, "pin: "+s.cfg.Pin)
}

// A hold keeps a server from starting.
type hold struct {
	subject consent.Subject
	change  consent.Change
	refused bool // by a person: he is not asked about this subject again
	asked   bool // in vain: whoever was there did not answer
	asking  bool
	// withdraw ends the open question, which was answered elsewhere.
	withdraw context.CancelFunc
}

// A heldError says that a server waits for a person.
type heldError struct {
	server string
	what   string
}

func (e *heldError) Error() string {
	return fmt.Sprintf("needs consent, since %s: `agentd mcp allow %s` shows and allows it", e.what, e.server)
}

// what says in words what changed.
func (h *hold) what() string {
	program := "the program behind " + h.subject.Line.Command + " changed"
	switch {
	case h.change.Line && h.change.Programs:
		return "its command line and " + program
	case h.change.Line:
		return "its command line changed"
	}
	return program
}

// status is the hold for people. It is called with the server's mu held.
func (h *hold) status() *core.MCPConsent {
	if h == nil {
		return nil
	}
	return &core.MCPConsent{Runs: h.subject.Shown, Was: h.change.WasLine,
		Program: h.subject.Program.String(), WasProgram: h.change.WasProgram.String(),
		Digest: h.subject.Digest(), Asking: h.asking, Refused: h.refused}
}

// consent returns nil when the server's program may start. It asks a person if
// need be, and fails with a heldError if none said yes.
func (s *server) consent(ctx context.Context) error {
	if s.cfg.Command == "" {
		return nil
	}
	for {
		sub, change, err := s.hub.consents.check(s)
		h := s.hold(sub, change)
		if err != nil || h == nil {
			return err
		}
		if err := s.ask(ctx, h); err != nil {
			return err
		}
	}
}

// hold takes note of what keeps the server, nil if nothing does.
func (s *server) hold(sub consent.Subject, change *consent.Change) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case change == nil:
		s.held = nil
	case s.held == nil || s.held.subject.Digest() != sub.Digest():
		h := &hold{subject: sub, change: *change}
		s.held = h
		s.log.Warn("MCP server needs consent", "server", s.name, "since", h.what(),
			"runs", sub.Shown, "was", change.WasLine, "program", sub.Program.String(), "allow", "agentd mcp allow "+s.name)
	}
	return s.held
}

// ask puts the question to a person. Nil: look again. It waits for the
// question of another server, whose answer may be one to this.
func (s *server) ask(ctx context.Context, h *hold) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	refused := h.refused
	h.asking, h.withdraw = !refused, cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.asking, h.withdraw = false, nil
	}()
	no := &heldError{s.name, h.what()}
	if refused {
		return no
	}
	c := s.hub.consents
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-asking.Done():
		return context.Cause(ctx)
	}
	if change, err := c.store.Check(h.subject); err != nil || change == nil {
		return err
	}
	answer, err := c.request(asking, h)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case asking.Err() != nil:
		return nil
	case err == nil && answer.Kind.Allows():
		return c.store.Allow(h.subject, answer.By)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.refused, h.asked = err == nil, err != nil && !unasked(err)
	return no
}

// unasked tells whether there was nobody to put a question to. An asker that
// was there and gave up is within an error of more than that.
func unasked(err error) bool {
	return err == core.ErrNobodyToAsk || errors.Is(err, core.ErrUnavailable)
}

// request asks through the askers of approvals.
func (c *consents) request(ctx context.Context, h *hold) (answer core.Answer, err error) {
	args, err := json.Marshal(struct {
		Runs       string `json:"runs"`
		Was        string `json:"was,omitempty"`
		Program    string `json:"program"`
		WasProgram string `json:"program was,omitempty"`
	}{h.subject.Shown, h.change.WasLine, h.subject.Program.String(), h.change.WasProgram.String()})
	if err != nil {
		return answer, err
	}
	err = core.Approvals.Use(c.hub.c, ctx, func(ctx context.Context, b core.Broker) error {
		answer, err = b.Request(ctx, core.Approval{
			Tool: "mcp:" + h.subject.Server, Source: core.Source{Kind: core.FromMCP, Name: h.subject.Server},
			Effect: core.Exec, Args: args,
			Reason:  "this MCP server does not start before you consent, since " + h.what() + "; a yes holds until it changes",
			Rule:    "a changed command line or program needs consent",
			Answers: []core.AnswerKind{core.AnswerOnce, core.AnswerReject},
		})
		return err
	})
	return answer, err
}

// heldEvery is how often a held server looks whether it was allowed by another
// process, whether what it starts is again what was allowed, and whether there
// is somebody to ask by now.
const heldEvery = 3 * time.Second

// stillHeld tells whether the server would only be held again, without a
// question that was not put yet.
func (s *server) stillHeld() bool {
	s.mu.Lock()
	h := s.held
	pending := h != nil && !h.refused && !h.asked
	s.mu.Unlock()
	if h == nil || pending {
		return false
	}
	sub, change, err := s.hub.consents.check(s)
	return err == nil && change != nil && sub.Digest() == h.subject.Digest()
}

// askAgain puts the question anew, unless a person said no.
func (s *server) askAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil && !s.held.refused && !s.closed {
		s.wantLocked()
		s.held.asking, s.held.asked = true, false
	}
}

// The errors of consent.
var (
	ErrNotHeld        = errors.New("it needs no consent")
	ErrConsentChanged = errors.New("what it would start changed meanwhile: look at it again")
)

// allow records a person's consent to what the digest stands for and starts
// the server.
func (s *server) allow(ctx context.Context, digest, by string) error {
	s.mu.Lock()
	h := s.held
	s.mu.Unlock()
	switch {
	case h == nil:
		return ErrNotHeld
	case h.subject.Digest() != digest:
		return ErrConsentChanged
	}
	if err := s.hub.consents.store.Allow(h.subject, by); err != nil {
		return err
	}
	s.mu.Lock()
	h.refused = false
	if h.withdraw != nil {
		h.withdraw()
	}
	s.mu.Unlock()
	_, err := s.session(ctx)
	return err
}
