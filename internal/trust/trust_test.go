package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/trust"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ core.Truster = (*trust.Store)(nil)

// project makes a folder that wants to be trusted.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"agent.yml": "plugins: {}\n", "README.md": "x", ".agentd/toolsearch.json": "{}",
		".agentd/skills/a/SKILL.md": "a", ".agentd/skills/a/run.sh": "rm", ".dsh/x": "y", "sub/agent.yml": "z",
	} {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func scan(t *testing.T, dir string) []trust.File {
	t.Helper()
	files, err := trust.Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRule08_ScanListsWhatCountsOnlyWhenTrusted(t *testing.T) {
	dir := project(t)
	outside := filepath.Join(t.TempDir(), "secret")
	put(t, outside, "s")
	if err := os.Symlink(outside, filepath.Join(dir, ".agentd", "link")); err != nil {
		t.Skip("no links here:", err)
	}
	var got []string
	for _, f := range scan(t, dir) {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil || len(f.SHA256) != 64 {
			t.Fatal(f, err)
		}
		got = append(got, filepath.ToSlash(rel))
	}
	want := []string{".agentd/skills/a/SKILL.md", ".agentd/skills/a/run.sh", ".agentd/toolsearch.json", ".dsh/x", "agent.yml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if files := scan(t, t.TempDir()); len(files) != 0 {
		t.Errorf("an empty folder: got %v", files)
	}
}

func TestRule08_E14_ExactlyTheAcceptedContentIsTrusted(t *testing.T) {
	dir, path := project(t), filepath.Join(t.TempDir(), "state", "trust.json")
	store, other := trust.Open(path), trust.Open(path)
	agent := filepath.Join(dir, "agent.yml")
	content := []byte("plugins: {}\n")
	if store.Trusted(agent, content) {
		t.Error("trusted before anybody accepted it")
	}
	files := scan(t, dir)
	put(t, agent, "changed while it was looked at")
	if err := store.Accept("me", files...); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		content    string
		want       bool
	}{
		{"what was shown", agent, string(content), true},
		{"what stands there now", agent, "changed while it was looked at", false},
		{"the same elsewhere", filepath.Join(dir, "sub", "agent.yml"), string(content), false},
		{"a skill", filepath.Join(dir, ".agentd/skills/a/SKILL.md"), "a", true},
		{"by way of ..", filepath.Join(dir, "sub") + "/../.agentd/skills/a/SKILL.md", "a", true},
		{"a new skill", filepath.Join(dir, ".agentd/skills/b/SKILL.md"), "a", false},
		{"one byte more", filepath.Join(dir, ".agentd/skills/a/SKILL.md"), "a\n", false},
	}
	for _, tt := range tests {
		for _, s := range []*trust.Store{store, other} {
			if got := s.Trusted(tt.path, []byte(tt.content)); got != tt.want {
				t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
			}
		}
	}
	list, err := store.List()
	if err != nil || len(list) != 5 || list[0].By != "me" || list[0].When.IsZero() {
		t.Errorf("got %v, %v", list, err)
	}
	// What was accepted stays so; forgetting reaches other processes at once.
	f, _, err := trust.ReadFile(agent)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Accept("me", f); err != nil {
		t.Fatal(err)
	}
	if !other.Trusted(agent, content) || !other.Trusted(agent, []byte("changed while it was looked at")) {
		t.Error("one of the contents is not trusted")
	}
	if n, err := store.Forget(dir); n != 6 || err != nil {
		t.Errorf("forget: got %d, %v", n, err)
	}
	if other.TrustedSum(agent, f.SHA256) {
		t.Error("still trusted")
	}
}

func TestABrokenStoreTrustsNothing(t *testing.T) {
	dir := project(t)
	path := filepath.Join(t.TempDir(), "trust.json")
	store := trust.Open(path)
	if err := store.Accept("me", scan(t, dir)...); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", `{"version":2}`, `{"version":1,"all":true}`} {
		put(t, path, text)
		if store.Trusted(filepath.Join(dir, "agent.yml"), []byte("plugins: {}\n")) {
			t.Errorf("%s: trusted", text)
		}
		if _, err := store.List(); err == nil {
			t.Errorf("%s: no error", text)
		}
		if err := store.Accept("me"); err == nil {
			t.Errorf("%s: overwritten", text)
		}
	}
}

func TestOnlyTheLastContentsOfAFileStayAccepted(t *testing.T) {
	dir := project(t)
	store := trust.Open(filepath.Join(t.TempDir(), "trust.json"))
	path := filepath.Join(dir, "agent.yml")
	version := func(i int) string { return fmt.Sprint("version: ", i%30) }
	for i := range 40 {
		put(t, path, version(i))
		f, _, err := trust.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Accept("me", f); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		// 0 to 9 came twice, the second time as the last ten.
		want := i < 10 || i >= 24
		if got := store.Trusted(path, []byte(version(i))); got != want {
			t.Errorf("version %d: got %v, want %v", i, got, want)
		}
	}
}
