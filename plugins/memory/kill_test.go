package memory_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/agent"
	"github.com/agentd-host/agentd/plugins/memory"
)

// victim names the state folder for a child process that works until it is
// killed.
const victim = "AGENTD_TEST_VICTIM"

func TestMain(m *testing.M) {
	if state := os.Getenv(victim); state != "" {
		if err := work(context.Background(), state); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// acknowledge is a session store that says on stdout what was acknowledged.
type acknowledge struct{ core.SessionStore }

type acknowledged struct{ core.Session }

func (a acknowledge) Open(ctx context.Context, id string) (core.Session, error) {
	s, err := a.SessionStore.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	return acknowledged{s}, nil
}

func (s acknowledged) Append(ctx context.Context, events ...core.SessionEvent) error {
	if err := s.Session.Append(ctx, events...); err != nil {
		return err
	}
	for _, ev := range events {
		fmt.Printf("%s %s\n", ev.Kind, ev.Data)
	}
	return nil
}

// withHost loads memory on a state folder, an agent and a model onto a host,
// and calls f. wrap may stand between the agent and the store.
func withHost(ctx context.Context, state string, model core.ModelProvider,
	wrap func(core.SessionStore) core.SessionStore, f func(*core.Context) error) (err error) {
	host := core.New(nil)
	defer func() { err = errors.Join(err, host.Close(context.WithoutCancel(ctx))) }()
	root := host.Root()
	if err := core.Environment.Provide(root, core.Paths{State: state}); err != nil {
		return err
	}
	inner, outer := root.Isolate(core.Sessions, "inner"), root.Isolate(core.Sessions, "outer")
	ready := func(f *core.Fiber, err error) error { return errors.Join(err, f.Ready(ctx)) }
	var user *core.Context
	if err := errors.Join(
		ready(core.Load(inner, memory.Plugin, memory.Config{})),
		ready(core.Load(inner, core.Plugin[struct{}]{Name: "wrap", Needs: core.Needs(core.Sessions),
			Apply: func(c *core.Context, _ struct{}) error {
				s, _ := core.Sessions.Get(c)
				return core.Sessions.Provide(c.Isolate(core.Sessions, "outer"), wrap(s))
			}}, struct{}{})),
		ready(core.Load(outer, agent.Hub, struct{}{})),
		ready(core.Load(outer, agent.Plugin, agent.Config{Budgets: agent.Budgets{Steps: 1 << 20, Repeats: 1 << 20}})),
		ready(core.Load(outer, core.Plugin[struct{}]{Name: "model", Needs: core.Needs(core.Models, core.Agents, core.Sessions),
			Apply: func(c *core.Context, _ struct{}) error {
				models, _ := core.Models.Get(c)
				user = c
				return errors.Join(models.Add(c, "scripted", model),
					core.DefineTool(c, core.Tool{Name: "count", Traits: core.Traits{Effect: core.Read, Parallel: true}},
						func(_ context.Context, in map[string]any) (string, error) { return fmt.Sprint(in["n"]), nil }))
			}}, struct{}{}, core.Named("model"))),
	); err != nil {
		return err
	}
	return f(user)
}

// work runs a turn that never ends in the session "s".
func work(ctx context.Context, state string) error {
	n := 0
	var forever coretest.Reply
	model := coretest.NewModel()
	forever.Then = func(*llm.Request) coretest.Reply {
		n++
		model.Add(forever)
		return coretest.Calls("count", fmt.Sprintf(`{"n":%d}`, 2*n), "count", fmt.Sprintf(`{"n":%d}`, 2*n+1))
	}
	model.Add(forever)
	return withHost(ctx, state, model, func(s core.SessionStore) core.SessionStore { return acknowledge{s} },
		func(c *core.Context) error {
			return core.Agents.Use(c, ctx, func(ctx context.Context, agents core.AgentRunner) error {
				_, err := agents.Run(ctx, core.Turn{Session: "s", Message: llm.UserText("go")})
				return err
			})
		})
}

// TestKillMinusNineLosesNothing kills a process in the middle of a turn, again
// and again. What was acknowledged is there, the file is sound, and the
// session goes on.
func TestKillMinusNineLosesNothing_H24(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 5
	}
	state := t.TempDir()
	store := func(f func(core.SessionStore) error) {
		t.Helper()
		err := withHost(t.Context(), state, coretest.NewModel(coretest.Says("I go on")),
			func(s core.SessionStore) core.SessionStore { return s },
			func(c *core.Context) error {
				s, _ := core.Sessions.Get(c)
				return f(s)
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	store(func(s core.SessionStore) error {
		o, err := s.Create(t.Context(), core.SessionInfo{ID: "s"})
		return errors.Join(err, o.Close())
	})
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range kills {
		acks := killed(t, state, 1+rng.IntN(60))
		store(func(s core.SessionStore) error {
			events, err := s.Read(t.Context(), "s")
			if err != nil {
				return err
			}
			checkAcks(t, i, acks, events)
			return nil
		})
		check(t, filepath.Join(state, "agentd.db"))
	}
	err := withHost(t.Context(), state, coretest.NewModel(coretest.Says("I go on")),
		func(s core.SessionStore) core.SessionStore { return s },
		func(c *core.Context) error {
			return core.Agents.Use(c, t.Context(), func(ctx context.Context, agents core.AgentRunner) error {
				res, err := agents.Run(ctx, core.Turn{Session: "s", Message: llm.UserText("and now?")})
				if res.Text != "I go on" {
					t.Errorf("got %+v", res)
				}
				return err
			})
		})
	if err != nil {
		t.Error(err)
	}
}

// killed starts a victim, reads that many acknowledgements, kills it, and
// returns all that it had acknowledged.
func killed(t *testing.T, state string, after int) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), victim+"="+state)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acks []string
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		acks = append(acks, lines.Text())
		if len(acks) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(acks) < after {
		t.Fatalf("the victim ended by itself after %d acknowledgements: %v\n%s", len(acks), err, stderr.String())
	}
	return acks
}

// checkAcks looks for the acknowledged events at the end of the log, in order;
// at most one batch may follow that was written and not acknowledged any more.
func checkAcks(t *testing.T, round int, acks []string, events []core.SessionEvent) {
	t.Helper()
	var tail []string
	for _, ev := range events {
		tail = append(tail, fmt.Sprintf("%s %s", ev.Kind, ev.Data))
	}
	for spare := range 4 {
		if end := len(tail) - spare; end >= len(acks) {
			same := true
			for i, a := range acks {
				if complete := json.Valid([]byte(a[strings.Index(a, " ")+1:])); complete && tail[end-len(acks)+i] != a {
					same = false
					break
				}
			}
			if same {
				return
			}
		}
	}
	t.Fatalf("round %d: %d events were acknowledged, and are not the last of the %d in the log",
		round, len(acks), len(tail))
}

// check runs SQLite's own check.
func check(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var result string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		t.Fatalf("integrity: %q %v", result, err)
	}
}
