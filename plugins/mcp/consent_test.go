package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
)

// approving is a broker that only takes questions about calls.
type approving struct {
	core.Broker
	person *coretest.Approver
}

func (a approving) Request(ctx context.Context, q core.Approval) (core.Answer, error) {
	if !a.person.Takes(q.Session) {
		return core.Answer{}, core.ErrNobodyToAsk
	}
	return a.person.Ask(ctx, q)
}

func withPerson(p *coretest.Approver) coretest.Option {
	return coretest.Provide[core.Broker](core.Approvals, approving{person: p})
}

// counted is a fake that leaves a mark in a file at each start.
func counted(t *testing.T, flags ...string) (cfg ServerConfig, starts func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "starts")
	return fakeServer(append(flags, "-state", file)...), func() int {
		data, _ := os.ReadFile(file)
		return len(data)
	}
}

// held waits until a server is held.
func (r *rig) held(server string) *core.MCPConsent {
	r.t.Helper()
	eventually(r.t, server+" is held", func() bool {
		s := r.status(server)
		return s.State == core.SourceHeld && !s.Consent.Asking && s.Error != ""
	})
	return r.status(server).Consent
}

// The hold is there before the attempt that met it is over.
func TestRule4_AHeldServerSaysWhyAtOnce(t *testing.T) {
	state := t.TempDir()
	r := startIn(t, state, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	next, _ := counted(t)
	r.update(map[string]ServerConfig{"a": next})
	r.held("a")
	s := r.projection("a").server
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	if got := r.status("a").Error; !strings.Contains(got, "its command line changed: `agentd mcp allow a`") {
		t.Errorf("error = %q", got)
	}
}

func (r *rig) update(servers map[string]ServerConfig) {
	r.t.Helper()
	if err := core.Update(r.t.Context(), r.Fiber, Config{Servers: servers}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) admin() *Admin { return &Admin{r.service.hub} }

func TestE18_AChangedCommandLineStartsNothingUntilAllowed(t *testing.T) {
	state := t.TempDir()
	r := startIn(t, state, map[string]ServerConfig{"a": fakeServer(), "b": fakeServer()})
	r.ready("a")
	pid := r.ready("b").PID
	next, starts := counted(t)
	next.Env["API_TOKEN"] = "canary-77aa51"
	r.update(map[string]ServerConfig{"a": next, "b": fakeServer()})
	c := r.held("a")
	if starts() != 0 {
		t.Fatal("it was started")
	}
	if !strings.Contains(c.Runs, "-state") || !strings.Contains(c.Runs, "API_TOKEN") || strings.Contains(c.Runs, "canary") ||
		strings.Contains(c.Was, "-state") || !strings.Contains(c.Program, "sha256") || c.WasProgram != "" {
		t.Errorf("consent = %+v", c)
	}
	s := r.status("a")
	if !strings.Contains(s.Error, "its command line changed: `agentd mcp allow a`") || !strings.Contains(s.Detail, "it would run: ") {
		t.Errorf("status = %+v", s)
	}
	if r.ready("b").PID != pid {
		t.Error("another server lost its process")
	}

	if err := r.admin().Allow(t.Context(), "a", "another digest", "Ada"); !errors.Is(err, ErrConsentChanged) || starts() != 0 {
		t.Errorf("allowed what was not shown: %v, %d starts", err, starts())
	}
	if err := r.admin().Allow(t.Context(), "a", c.Digest, "Ada"); err != nil {
		t.Fatal(err)
	}
	if s := r.ready("a"); s.Consent != nil || s.Error != "" || starts() != 1 {
		t.Errorf("after consent: %+v, %d starts", s, starts())
	}
	if err := r.admin().Allow(t.Context(), "a", c.Digest, "Ada"); !errors.Is(err, ErrNotHeld) {
		t.Errorf("allowed twice: %v", err)
	}
	if err := r.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	startIn(t, state, map[string]ServerConfig{"a": next}).ready("a") // kept
}

func TestE18_ValuesOfVariablesAreNoChange(t *testing.T) {
	cfg := with(fakeServer(), func(c *ServerConfig) { c.Env["TOKEN"] = "one" })
	r := start(t, map[string]ServerConfig{"a": cfg})
	pid := r.ready("a").PID
	r.update(map[string]ServerConfig{"a": with(fakeServer(), func(c *ServerConfig) { c.Env["TOKEN"] = "two" })})
	if s := r.ready("a"); s.PID == pid {
		t.Error("the token was not taken")
	}
}

func TestE18_APersonIsAskedOnceAndBelieved(t *testing.T) {
	for answer, ready := range map[core.AnswerKind]bool{core.AnswerOnce: true, core.AnswerReject: false} {
		t.Run(string(answer), func(t *testing.T) {
			person := coretest.NewApprover(answer)
			r := start(t, map[string]ServerConfig{"a": fakeServer()}, withPerson(person))
			r.ready("a")
			next, starts := counted(t)
			r.update(map[string]ServerConfig{"a": next})
			if ready {
				r.ready("a")
			} else if c := r.held("a"); !c.Refused || starts() != 0 {
				t.Errorf("refused: %+v, %d starts", c, starts())
			}
			asked := person.Asked()
			if len(asked) != 1 || asked[0].Tool != "mcp:a" || asked[0].Effect != core.Exec ||
				!strings.Contains(string(asked[0].Args), "-state") || !strings.Contains(asked[0].Reason, "its command line changed") {
				t.Fatalf("asked %+v", asked)
			}
			// A no is final until somebody says otherwise by himself.
			r.admin().AskAgain()
			if !ready {
				if _, err := r.projection("a").server.session(t.Context()); err == nil || !strings.Contains(err.Error(), "needs consent") {
					t.Errorf("a call: %v", err)
				}
			}
			if n := len(person.Asked()); n != 1 {
				t.Errorf("asked %d times", n)
			}
			if ready {
				return
			}
			if err := r.admin().Allow(t.Context(), "a", r.held("a").Digest, "Ada"); err != nil || starts() != 1 {
				t.Errorf("allow after a no: %v, %d starts", err, starts())
			}
		})
	}
}

func (r *rig) projection(server string) *projection {
	r.t.Helper()
	p, ok := r.service.hub.find(server)
	if !ok {
		r.t.Fatalf("no server %s", server)
	}
	return p
}

func TestE18_WhoComesLaterIsAsked(t *testing.T) {
	person := coretest.NewApprover(core.AnswerOnce)
	person.SetAway(true)
	r := start(t, map[string]ServerConfig{"a": fakeServer()}, withPerson(person))
	r.ready("a")
	next, starts := counted(t)
	r.update(map[string]ServerConfig{"a": next})
	if r.held("a"); starts() != 0 {
		t.Fatal("it was started")
	}
	person.SetAway(false)
	r.admin().AskAgain()
	r.ready("a")
}

func TestE18_AnotherProcessAllows(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer()})
	r.ready("a")
	const secret = "-tools=00000000000000001"
	next := map[string]ServerConfig{"a": fakeServer(secret)}
	r.update(next)
	r.held("a")
	if err := Consent(core.Paths{State: r.state}, "Ada", next, []string{secret}); err != nil {
		t.Fatal(err)
	}
	r.ready("a")
	kept, err := os.ReadFile(filepath.Join(r.state, "mcp", "consent.json"))
	if err != nil || strings.Contains(string(kept), secret) {
		t.Errorf("kept: %s, %v", kept, err)
	}
}

// script is a program that runs the fake, and how to change it.
func script(t *testing.T) (cfg ServerConfig, change func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	name, _, env := fake.Command()
	env["FAKE"] = name
	text := "#!/bin/sh\nexec \"$FAKE\" \"$@\"\n"
	write := func() {
		text += "# changed\n"
		if err := os.WriteFile(path+".new", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write()
	return ServerConfig{Command: path, Env: env, Era: eraLegacy}, write
}

func TestE18_AChangedProgramIsOneQuestionForAllItsServers(t *testing.T) {
	person := coretest.NewApprover(core.AnswerOnce)
	cfg, upgrade := script(t)
	servers := map[string]ServerConfig{"a": cfg, "b": cfg, "c": cfg}
	state := t.TempDir()
	first := startIn(t, state, servers)
	for name := range servers {
		first.ready(name)
	}
	if err := first.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	upgrade()
	r := startIn(t, state, servers, withPerson(person))
	for name := range servers {
		eventually(t, name+" runs", func() bool { return r.status(name).PID != 0 })
	}
	asked := person.Asked()
	if len(asked) != 1 {
		t.Fatalf("asked %d times: %+v", len(asked), asked)
	}
	var q map[string]string
	if err := json.Unmarshal(asked[0].Args, &q); err != nil || q["program"] == q["program was"] || !strings.Contains(q["program was"], "sha256") {
		t.Errorf("question = %s, %v", asked[0].Args, err)
	}
}

func TestE18_PinSaysHowProgramsAreTaken(t *testing.T) {
	for _, pin := range []string{"off", "warn", "block"} {
		t.Run(pin, func(t *testing.T) {
			cfg, upgrade := script(t)
			servers := map[string]ServerConfig{"a": with(cfg, func(c *ServerConfig) { c.Pin = pin })}
			state := t.TempDir()
			first := startIn(t, state, servers)
			first.ready("a")
			if err := first.Host.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			upgrade()
			r := startIn(t, state, servers)
			if pin != "block" {
				eventually(t, "it runs", func() bool { return r.status("a").PID != 0 })
				return
			}
			if c := r.held("a"); c.Was != "" || c.WasProgram == "" || !strings.Contains(r.status("a").Error, "the program behind") {
				t.Errorf("held: %+v, %s", c, r.status("a").Error)
			}
		})
	}
}

func TestE18_APluginThatConnectsSomethingElse(t *testing.T) {
	r := start(t, nil)
	connect := func(cfg ServerConfig) *core.Fiber {
		t.Helper()
		config, err := json.Marshal(map[string]any{"command": cfg.Command, "args": cfg.Args, "env": cfg.Env, "era": "legacy"})
		if err != nil {
			t.Fatal(err)
		}
		p := core.Plugin[struct{}]{Name: "other", Needs: core.Needs(core.MCP), Apply: func(c *core.Context, _ struct{}) error {
			svc, _ := core.MCP.Get(c)
			return svc.Connect(c, "mine", config)
		}}
		f, err := core.Load(r.Host.Root(), p, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := connect(fakeServer())
	r.ready("mine")
	if err := f.Dispose(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, starts := counted(t)
	connect(next)
	if r.held("mine"); starts() != 0 {
		t.Error("it was started")
	}
}

func TestE18_ARecordThatCannotBeReadStartsNothing(t *testing.T) {
	state := t.TempDir()
	if err := writeState(filepath.Join(state, "mcp", "consent.json"), map[string]int{"version": 9}); err != nil {
		t.Fatal(err)
	}
	cfg, starts := counted(t)
	r := startIn(t, state, map[string]ServerConfig{"a": cfg})
	eventually(t, "it says why", func() bool { return strings.Contains(r.status("a").Error, "repair or remove it") })
	if starts() != 0 {
		t.Error("it was started")
	}
}
