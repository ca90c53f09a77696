package toolpolicy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plainRealPath is what realPaths has to agree with: every prefix is resolved
// from the start.
func plainRealPath(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	if base == "" || dir == path {
		return path
	}
	return filepath.Join(plainRealPath(dir), base)
}

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

func TestRealPathsAgreeWithResolvingEachPrefix(t *testing.T) {
	root := linkedTree(t)
	names := []string{"a", "b", "file", "link", "abs", "tofile", "dangling", "loop", "up", "over", "chain", "far", "missing", "none", "..", ".",
		strings.Repeat("long", 80)}
	rng := rand.New(rand.NewPCG(7, 8))
	shared, absent := realPaths{}, 0
	for range 1500 {
		path := root
		for range rng.IntN(6) {
			path += "/" + names[rng.IntN(len(names))]
		}
		want := plainRealPath(path)
		for _, real := range []realPaths{{}, shared} {
			got, there := real.of(path)
			if got != want {
				t.Fatalf("%s: got %s, want %s", path, got, want)
			}
			if _, err := os.Stat(got); err == nil && !there {
				t.Fatalf("%s is there", path)
			}
			if !there {
				absent++
			}
		}
	}
	if absent < 500 {
		t.Errorf("only %d paths were of nothing", absent)
	}
}
