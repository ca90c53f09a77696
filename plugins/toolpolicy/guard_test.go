package toolpolicy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever leads to a guarded file is guarded: links, links to what is not
// there yet, and .. in both of its readings.
func TestRule07_NoWayLeadsAroundTheGuard(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{".agentd/skills", "sub", "else/where"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"dang": ".agentd/new.md", "again": "dang", "skills": ".agentd/skills", "out": "else/where", "sub/up": "../.agentd",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	g := &guard{root: func() string { return root }, files: []string{filepath.Join(root, "agent.yml")}}
	for path, guarded := range map[string]bool{
		"agent.yml": true, "sub/../agent.yml": true, "AGENT.YML": true, ".agentd/x": true, filepath.Join(root, ".agentd"): true,
		"dang": true, "again": true, "skills/new/SKILL.md": true, "sub/up/x": true,
		"skills/../x.md":                         true, // as the system reads it
		"out/../agent.yml":                       true, // as a program may read it
		strings.Repeat("./", 3000) + "agent.yml": true, strings.Repeat("x/", 3000) + "agent.yml": false,
		"none/../.agentd":  true,
		"a\n/../agent.yml": true, ".agentd/a\nb": true, // a name may have any character
		"file://" + root + "/.agentd/x": true, "FILE://localhost" + root + "/agent%2Eyml": true, "agent%2Eyml": false,
		"sub/x": false, "out/x": false, "sub/../x": false, "agent.ymlx": false, "": false,
	} {
		if what := g.hit(root, path, realPaths{}); (what != "") != guarded {
			t.Errorf("%q: guarded by %q, want %v", path, what, guarded)
		}
	}
}
