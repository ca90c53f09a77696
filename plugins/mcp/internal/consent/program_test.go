//go:build unix

package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestE18_AProgramIsTheFileAndItsInterpreters(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) File {
		t.Helper()
		path := filepath.Join(dir, name)
		// As an upgrade does: another file.
		if err := os.WriteFile(path+".new", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(text))
		return File{path, hex.EncodeToString(sum[:])}
	}
	node := write("node", "\x7fELF of node")
	direct := write("direct", "#!"+node.Path+" --flag\nscript")
	npx := write("npx", "#!/usr/bin/env -S X=1 node --flag\nscript")
	lost := write("lost", "#!/usr/bin/env nowhere\n")
	loop := write("loop", "#!"+filepath.Join(dir, "loop")+"\n")
	var p Programs
	find := func(f File) Program { return p.Find(f.Path, "/nowhere:"+dir) }
	for _, tt := range []struct {
		file File
		want Program
	}{
		{node, Program{node}},
		{direct, Program{direct, node}},
		{npx, Program{npx, node}},
		{lost, Program{lost}},
		{loop, Program{loop, loop, loop, loop}},
		{File{Path: dir}, Program{{Path: dir}}},
		{File{Path: dir + "/absent"}, Program{{Path: dir + "/absent"}}},
	} {
		if diff := cmp.Diff(tt.want, find(tt.file)); diff != "" {
			t.Errorf("%s: %s", tt.file.Path, diff)
		}
	}
	upgraded := write("node", "\x7fELF of another node")
	if diff := cmp.Diff(Program{npx, upgraded}, find(npx)); diff != "" {
		t.Errorf("after an upgrade: %s", diff)
	}
}
