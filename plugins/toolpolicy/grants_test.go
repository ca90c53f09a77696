package toolpolicy

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/statefile"
)

func always(tool string) (core.Approval, core.Answer) {
	return core.Approval{Tool: tool, Rule: "rule", Session: "s"}, core.Answer{Kind: core.AnswerAlways, By: "me"}
}

func TestRule10_GrantsAreSavedPrivatelyAndSharedBetweenProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	var stores []*grants
	for range 4 {
		g, err := openGrants(path, "agent.yml")
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, g)
	}
	var wg sync.WaitGroup
	for _, g := range stores {
		wg.Go(func() {
			for range 5 {
				if err := g.add(always("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ids := map[string]bool{}
	for _, g := range stores {
		list, err := g.list()
		if err != nil || len(list) != 20 {
			t.Fatalf("got %d grants, %v, want 20", len(list), err)
		}
		for _, grant := range list {
			ids[grant.ID] = true
		}
	}
	if len(ids) != 20 {
		t.Errorf("got %d ids", len(ids))
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want 0600", info.Mode(), err)
	}
}

func TestE27_AGrantsFileThatCannotBeTrustedStopsThePlugin(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"broken":      func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"newer":       func(path string) error { return os.WriteFile(path, []byte(`{"version":2}`), 0o600) },
		"unknown key": func(path string) error { return os.WriteFile(path, []byte(`{"version":1,"everything":true}`), 0o600) },
		"a bad pattern": func(path string) error {
			return os.WriteFile(path, []byte(`{"version":1,"grants":[{"pattern":"x("}]}`), 0o600)
		},
		"writable by others": func(path string) error {
			if runtime.GOOS == "windows" {
				return os.WriteFile(path, []byte("{"), 0o600)
			}
			return errors.Join(os.WriteFile(path, []byte(`{"version":1}`), 0o600), os.Chmod(path, 0o666))
		},
	} {
		path := filepath.Join(t.TempDir(), "grants.json")
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if _, err := openGrants(path, ""); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
		before, _ := os.ReadFile(path)
		if err := revokeElsewhere(path, "x"); err == nil {
			t.Errorf("%s: revoked", name)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: the file was overwritten", name)
		}
	}
}

// revokeElsewhere takes a grant back as the host of another process does.
func revokeElsewhere(path, id string) error {
	g, err := openGrants(path, "")
	if err != nil {
		return err
	}
	return g.revoke(id)
}

func TestAGrantsFileSpoiledWhileTheHostRunsGrantsNothing(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{})
	p := says(core.AnswerAlways, core.AnswerNever, core.AnswerOnce)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("u", ""), core.CodeDenied)
	good, err := os.ReadFile(h.admin.GrantsFile())
	h.must(err)
	h.must(statefile.Write(h.admin.GrantsFile(), []byte("{")))
	h.wants(h.call("x", "ls"), "")
	if p.count() != 3 {
		t.Errorf("asked %d times, want the grant not to count", p.count())
	}
	h.wants(h.call("u", ""), core.CodeDenied) // the never still does
	h.must(statefile.Write(h.admin.GrantsFile(), good))
	h.wants(h.call("x", "ls"), "")
	if p.count() != 3 {
		t.Error("the repaired file is not read again")
	}
}

func TestE32_GrantsOfOneConfigurationAndSessionStayThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	one, err := openGrants(path, "/a/agent.yml")
	if err != nil {
		t.Fatal(err)
	}
	other, err := openGrants(path, "/b/agent.yml")
	if err != nil {
		t.Fatal(err)
	}
	q := &inquiry{tool: toolNamed("x", core.Exec), args: json.RawMessage(`{}`)}
	no := func(core.Permission) bool { return false }
	holds := func(g *grants, session string) bool {
		by, _, err := g.look(q, session, "t", "rule", no)
		if err != nil {
			t.Fatal(err)
		}
		return by != nil
	}
	a, ans := always("x")
	ans.Kind = core.AnswerSession
	if err := one.add(a, ans); err != nil {
		t.Fatal(err)
	}
	if !holds(one, "s") || holds(one, "s2") || holds(other, "s") {
		t.Error("a session's grant reaches further than the session")
	}
	if err := one.add(always("x")); err != nil {
		t.Fatal(err)
	}
	if !holds(one, "s2") || holds(other, "s2") {
		t.Error("a saved grant reaches further than its configuration")
	}
}

func FuzzReadGrants(f *testing.F) {
	f.Add([]byte(`{"version":1,"seq":3,"grants":[{"id":"a","tool":"x","pattern":"x(git *)","allow":true}],"asking":{"c":{"r":1}}}`))
	f.Add([]byte(`{"version":1,"grants":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readGrants(data)
		if err != nil {
			return
		}
		q := &inquiry{tool: toolNamed("x", core.Exec), args: json.RawMessage(`{"command":"git log"}`)}
		for _, g := range file.Grants {
			g.about(q, true)
			g.refuses(q)
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	a := core.Approval{Session: "s", Turn: "t"}
	a.Answers = offered(a)
	f.Add("n because", []byte(`{"kind":"once"}`))
	f.Fuzz(func(t *testing.T, line string, data []byte) {
		if ans, err := ParseAnswer(line, a); err == nil && ans.Kind == "" {
			t.Fatalf("%q was taken without an answer", line)
		}
		parseAnswer(data)
	})
}

// What a store knows after its own change is what the file said then, not what
// another process made of it a moment later.
func TestRule10_ARevocationBesideAnAnswerIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	mine, err := openGrants(path, "agent.yml")
	if err != nil {
		t.Fatal(err)
	}
	other, err := openGrants(path, "agent.yml")
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := mine.add(always("x")); err != nil {
			t.Fatal(err)
		}
		list, err := mine.list()
		if err != nil {
			t.Fatal(err)
		}
		id := list[len(list)-1].ID
		var wg sync.WaitGroup
		wg.Go(func() { mine.add(always("y")) })
		wg.Go(func() { other.revoke(id) })
		wg.Wait()
		about := &inquiry{tool: &core.Tool{Name: "x"}}
		by, _, err := mine.look(about, "s", "t", "rule", func(core.Permission) bool { return false })
		if err != nil || by != nil {
			t.Fatalf("after its revocation a grant settles: %+v, %v", by, err)
		}
	}
}
