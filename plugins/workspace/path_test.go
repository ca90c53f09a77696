package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// linked makes a root beside a secret, with links of all kinds that lead in
// and out.
func linked(t testing.TB) *folder {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	f := testFolder(t, map[string]string{"docs/a.txt": "a", "src/b.txt": "b", "agent.yml": "x", ".git/config": "c"})
	outside := filepath.Join(filepath.Dir(f.path), "secret")
	must(t, os.Mkdir(outside, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "key"), []byte("SECRET"), 0o644))
	for name, target := range map[string]string{
		"in":           "docs",
		"docs/up":      "../src",
		"absin":        filepath.Join(f.path, "docs"),
		"out":          "../secret",
		"absout":       outside,
		"outfile":      "../secret/key",
		"chain":        "docs/out2",
		"docs/out2":    "../out",
		"loop":         "loop2",
		"loop2":        "loop",
		"alias":        "agent.yml",
		"gitalias":     ".git",
		"dangling":     "../secret/new",
		"danglingin":   "docs/new",
		"sneaky":       "docs/../../secret",
		"rooted":       "/",
		"proc":         "/proc/self",
		"docs/reenter": "../../root/docs",
	} {
		must(t, os.Symlink(target, f.abs(name)))
	}
	return f
}

func TestE15_PathsResolveToTheirRealNameOrAreRefused(t *testing.T) {
	f := linked(t)
	for _, tt := range []struct{ path, want string }{
		{"docs/a.txt", "docs/a.txt"},
		{"./docs//a.txt", "docs/a.txt"},
		{"docs/../docs/a.txt", "docs/a.txt"},
		{".", "."},
		{"docs/..", "."},
		{"in/a.txt", "docs/a.txt"},
		{"in/../docs", "docs"},
		{"docs/up/b.txt", "src/b.txt"},
		{"docs/up/../agent.yml", "agent.yml"}, // as the kernel: above src
		{"absin/a.txt", "docs/a.txt"},
		{"alias", "agent.yml"},
		{"gitalias/config", ".git/config"},
		{"danglingin", "docs/new"},
		{"new/file", "new/file"},
		{f.path + "/docs/a.txt", "docs/a.txt"},
		{f.path, "."},
		{f.path + "/in/../src", "src"},
		{f.path + "2/../root/docs/a.txt", "docs/a.txt"}, // beside the root, and back
		{f.path + "/./docs/up/../agent.yml", "agent.yml"},
		{filepath.Dir(f.path) + "/./root/docs/up/../agent.yml", "agent.yml"}, // the root, written otherwise
		{"．．/docs", "．．/docs"},                                               // full-width dots are a name like any other
		{"...", "..."},
		{"docs/a.txt ", "docs/a.txt "},
	} {
		if got, err := f.resolve(tt.path); err != nil || got != tt.want {
			t.Errorf("resolve(%q) = %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	for _, path := range []string{
		"..", "../secret/key", "docs/../../secret/key", "out/key", "absout/key", "outfile",
		"chain/key", "in/../../secret/key", "dangling", "sneaky/key", "rooted/etc/passwd",
		"proc/environ", "docs/reenter/a.txt", "/etc/passwd", "/proc/self/environ", "/proc/self/root",
		"/", f.path + "/../secret/key", f.path + "-other/x", filepath.Dir(f.path),
		"/proc/self/cwd/../../etc/passwd", "in/up/../../../secret",
	} {
		if got, err := f.resolve(path); !errors.Is(err, errOutside) {
			t.Errorf("resolve(%q) = %q, %v; want it refused as outside", path, got, err)
		}
	}
	for path, reason := range map[string]string{
		"loop":           "too many symbolic links",
		"a\x00b":         "control character",
		"a\nb":           "control character",
		"\xff":           "not valid UTF-8",
		"~/.ssh/id_rsa":  "~ is not expanded",
		"docs/a.txt/b":   "",
		"docs/a.txt/../": "",
	} {
		got, err := f.resolve(path)
		if err == nil && reason != "" || err != nil && !strings.Contains(err.Error(), reason) {
			t.Errorf("resolve(%q) = %q, %v; want an error with %q", path, got, err, reason)
		}
	}
}

func TestE15_NothingOutsideIsReadOrWritten(t *testing.T) {
	f := linked(t)
	ctx := t.Context()
	// Also where a link is swapped in after the path was resolved: the real
	// name itself is a link that leads out.
	for _, name := range []string{"outfile", "out/key", "absout/key", "../secret/key", "proc/environ", "dangling"} {
		if got, err := f.read(ctx, name, readInput{}); err == nil {
			t.Errorf("read(%q) = %q", name, got)
		}
		if got, err := f.search(ctx, name, searchInput{Pattern: "SECRET"}); err == nil && strings.Contains(got, ": SECRET") {
			t.Errorf("search(%q) = %q", name, got)
		}
		f.write(ctx, name, writeInput{Content: "pwned"})
		f.edit(ctx, name, editInput{OldText: "SECRET", NewText: "pwned"})
	}
	secret := filepath.Join(filepath.Dir(f.path), "secret")
	if got, _ := os.ReadFile(filepath.Join(secret, "key")); string(got) != "SECRET" {
		t.Errorf("the file outside now holds %q", got)
	}
	if entries, _ := os.ReadDir(secret); len(entries) != 1 {
		t.Errorf("the folder outside now holds %v", entries)
	}
	out, err := f.search(ctx, ".", searchInput{Pattern: "SECRET", All: true})
	must(t, err)
	if strings.Contains(out, "SECRET\n") {
		t.Errorf("a search followed a link out: %q", out)
	}
}

func TestE15_PseudoFilesAreNotPartOfAWorkspace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	f, err := openFolder("/", limits{})
	must(t, err)
	defer f.Close()
	for _, path := range []string{"/proc/self/environ", "proc/self/environ", "proc/self/root/proc/self/environ", "proc/thread-self/status", "/proc/1/cmdline"} {
		name, err := f.resolve(path)
		if err != nil {
			continue
		}
		got, err := f.read(t.Context(), name, readInput{})
		if err == nil {
			t.Errorf("read(%q) = %d bytes", path, len(got))
		}
	}
	_, err = f.read(t.Context(), "proc/self/environ", readInput{})
	wantError(t, err, "pseudo file systems")
	_, err = f.list(t.Context(), "proc", listInput{})
	wantError(t, err, "pseudo file systems")
	_, err = f.read(t.Context(), "dev/null", readInput{})
	wantError(t, err, "device")
}

func TestE15_GuardedNamesInEverySpelling(t *testing.T) {
	for _, name := range []string{
		"agent.yml", "sub/agent.yml", "AGENT.YML", "Agent.yaml", ".agentd/skills/x", ".AgentD/x",
		".git/hooks/pre-commit", ".GIT/config", ".git./config", ".git /config", ".g\u200cit/config",
		"\uff0egit/config", "git~1/config", "GIT~1/config", "agentd~1/x", "agent.yml::$DATA", ".git:x/y",
		"agent.ym\u006c\u200d", "\uff41gent.yml", ".dsh/x", ".ag\ufe0fentd/x", "agent.yml...",
	} {
		if !isGuarded(name) {
			t.Errorf("%q is not guarded", name)
		}
	}
	for _, name := range []string{
		"agent.yml.bak", "my-agent.yml", ".gitignore", ".github/workflows/x", "git/x", "agentd/x", "a~1", "README.md", ".", "x~y/z",
	} {
		if isGuarded(name) {
			t.Errorf("%q is guarded", name)
		}
	}
}

// FuzzE15_Resolve checks that whatever resolves can be opened only inside.
func FuzzE15_Resolve(f *testing.F) {
	for _, s := range []string{"docs/a.txt", "../x", "in/../..", "out/key", "absin/../../secret", "chain/./key", "/proc/self/root", "docs/up/up/..", "rooted//", "\\..\\x", "~"} {
		f.Add(s)
	}
	dir := linked(f)
	prefix := dir.path + string(filepath.Separator)
	f.Fuzz(func(t *testing.T, path string) {
		name, err := dir.resolve(path)
		if err != nil {
			return
		}
		if name != "." && !filepath.IsLocal(name) {
			t.Fatalf("resolve(%q) = %q", path, name)
		}
		real, err := filepath.EvalSymlinks(dir.abs(name))
		if err == nil && real != dir.path && !strings.HasPrefix(real, prefix) {
			t.Fatalf("resolve(%q) = %q, which is %q", path, name, real)
		}
		if err == nil && real != filepath.Clean(dir.abs(name)) {
			t.Fatalf("resolve(%q) = %q holds a link to %q", path, name, real)
		}
	})
}
