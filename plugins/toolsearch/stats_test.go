package toolsearch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// keeping is a rig whose host keeps its state in a folder.
func keeping(t testing.TB, state string, opts ...coretest.Option) *rig {
	t.Helper()
	env := coretest.Provide(core.Environment, core.Paths{State: state})
	r := start(t, Config{SearchStreak: ptr(0)}, append(opts, env, toolset(many(60)...))...)
	r.step()
	return r
}

func (r *rig) finish() {
	r.t.Helper()
	err := core.AgentEvents.Emit(&hosted{r.ctx(), r.Host.Root()}, core.AgentEvent{
		Kind: core.AgentFinish, Session: r.Viewer.Session, Turn: fmt.Sprint("turn", r.turn),
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stats() Stats {
	r.t.Helper()
	st, err := r.service().Stats(&hosted{r.ctx(), r.Host.Root()}, r.Viewer, llm.Info{})
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

// TestSearchesOutliveTheProcess: those that led nowhere, of any host.
func TestSearchesOutliveTheProcess(t *testing.T) {
	state := t.TempDir()
	first := keeping(t, state)
	first.search("zzyzx")
	first.search("invoice")
	first.finish()
	first.search("qwertz")
	if err := first.Host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := keeping(t, state)
	second.search("zzyzx")
	want := []FailedSearch{{Query: "zzyzx", Nothing: 2}, {Query: "invoice", NoCall: 1}, {Query: "qwertz", Nothing: 1}}
	if st := second.stats(); st.Searches != 4 || !slices.Equal(st.Failed, want) {
		t.Errorf("before the turn's end: %+v", st)
	}
	third := keeping(t, state)
	second.finish()
	if st := third.stats(); st.Searches != 4 || !slices.Equal(st.Failed, want) {
		t.Errorf("another host: %+v", st)
	}
	info, err := os.Stat(filepath.Join(state, searchFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestSearchesOfManyHosts at once all count.
func TestSearchesOfManyHosts(t *testing.T) {
	state := t.TempDir()
	var hosts sync.WaitGroup
	for range 4 {
		r := keeping(t, state)
		hosts.Go(func() {
			for i := range 5 {
				r.search(fmt.Sprint("zzyzx", i))
				r.finish()
			}
		})
	}
	hosts.Wait()
	st := keeping(t, state).stats()
	if st.Searches != 20 || len(st.Failed) != 5 || st.Failed[0].Nothing != 4 || st.Failed[4].Nothing != 4 {
		t.Errorf("got %+v", st)
	}
}

// TestSearchesAreFew: the latest of too many are kept, and the beginnings of
// long ones.
func TestSearchesAreFew(t *testing.T) {
	var r searchRecord
	for i := range 3 * failedKept {
		r.add(FailedSearch{Query: fmt.Sprint("q", i), Nothing: 1})
		r.add(FailedSearch{Query: "often", NoCall: 1})
	}
	last := r.Failed[len(r.Failed)-2]
	if n := len(r.Failed); n != failedKept || last.Query != fmt.Sprint("q", 3*failedKept-1) || r.Failed[n-1].NoCall != 3*failedKept {
		t.Errorf("%d are kept, %+v, %+v", n, last, r.Failed[n-1])
	}
	state := t.TempDir()
	h := keeping(t, state)
	h.search(strings.Repeat("漢", 10_000))
	if q := h.stats().Failed[0].Query; len(q) > queryLogged || len(q) < queryLogged-3 || !utf8.ValidString(q) {
		t.Errorf("%d bytes: %q", len(q), q)
	}
}

type keeper []string

func (k keeper) Secrets() []string { return k }

// TestE26_SearchesAreKeptWithoutSecrets also where a long query is cut within
// one.
func TestE26_SearchesAreKeptWithoutSecrets(t *testing.T) {
	const canary, other = "canary-0815-secret", "canary-0816-configured"
	t.Setenv("TEST_API_TOKEN", canary)
	state := t.TempDir()
	r := keeping(t, state, coretest.Provide[core.SecretKeeper](core.Secrets, keeper{other}))
	for _, query := range []string{canary, other, "invoice " + canary, strings.Repeat("z", queryLogged-12) + " " + canary} {
		r.search(query)
	}
	r.finish()
	data, err := os.ReadFile(filepath.Join(state, searchFile))
	if err != nil || strings.Contains(string(data), "canary") || !strings.Contains(string(data), "[redacted]") {
		t.Errorf("%v, %s", err, data)
	}
	if text := fmt.Sprint(r.stats()); strings.Contains(text, "canary") {
		t.Error(text)
	}
}

// TestSearchesOfABadFile: it is left as it is, and no search fails.
func TestSearchesOfABadFile(t *testing.T) {
	state := t.TempDir()
	path := filepath.Join(state, searchFile)
	const later = `{"version":2}`
	if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	r := keeping(t, state)
	for range 2 {
		r.search("zzyzx")
		r.finish()
	}
	if st := r.stats(); st.Searches != 2 || len(st.Failed) != 1 {
		t.Errorf("got %+v", st)
	}
	if data, _ := os.ReadFile(path); string(data) != later {
		t.Errorf("it now holds %s", data)
	}
}
