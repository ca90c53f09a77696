package toolpolicy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linkedTree makes a folder with links of all kinds.
func linkedTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	must(os.WriteFile(filepath.Join(root, "a", "file"), nil, 0o600))
	links := map[string]string{
		"link": "a", "abs": filepath.Join(root, "a", "b"), "tofile": "link/file", "dangling": "a/missing", "loop": "loop",
		"a/lost": "../dangling", "deep": "a/b/../missing2",
		"a/up": "..", "a/b/over": "../../link", "a/b/chain": "../../abs/over",
		"far": "far1", "far50": "a", // more steps than the system follows
	}
	for i := 1; i < 50; i++ {
		links[fmt.Sprint("far", i)] = fmt.Sprint("far", i+1)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	return root
}

// What is predicted is where the system opens the path, or makes it.
func TestRealPathsAreWhereTheSystemOpens(t *testing.T) {
	root := linkedTree(t)
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "file", "link", "abs", "tofile", "dangling", "lost", "deep", "loop", "up", "over", "chain", "far", "missing", "none", "..", ".",
		"", strings.Repeat("long", 80)}
	rng := rand.New(rand.NewPCG(7, 8))
	opened, made := 0, 0
	for range 3000 {
		path := root
		for range rng.IntN(6) {
			path += "/" + names[rng.IntN(len(names))]
		}
		got, there := realPaths{}.of(path)
		if !strings.HasPrefix(got, real) {
			continue // .. led out of the tree
		}
		if want, err := filepath.EvalSymlinks(path); err == nil {
			opened++
			if got != want || !there {
				t.Fatalf("%s: got %s, %v, want %s", path, got, there, want)
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			continue
		}
		made++
		f.Close()
		want, err := filepath.EvalSymlinks(path)
		if err != nil || got != want {
			t.Fatalf("%s: got %s, and it was made at %s, %v", path, got, want, err)
		}
		if err := os.Remove(want); err != nil {
			t.Fatal(err)
		}
	}
	if opened < 300 || made < 100 {
		t.Errorf("%d paths were opened, %d made", opened, made)
	}
}
