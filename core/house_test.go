package core

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A plugin that makes up a context can't be told apart from a stranger, so
// that a wait in a circle would be a deadlock; see ErrSelfWait.
func TestRule14_PluginsMakeUpNoContexts(t *testing.T) {
	const root = "../plugins"
	if _, err := os.Stat(root); err != nil {
		t.Skip("no plugins here")
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir // programs of tests are no plugins
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, place := range madeUpContexts(t, path, nil) {
			t.Errorf("%s: use the context that the call or the plugin was given", place)
		}
		return nil
	})
	must(t, err)
}

func TestMadeUpContextsAreFound(t *testing.T) {
	const src = `package p
		import ctx "context"
		var a, b, c = ctx.Background(), ctx.TODO, ctx.WithCancel`
	if got := madeUpContexts(t, "x.go", src); len(got) != 2 {
		t.Errorf("found %v", got)
	}
}

// madeUpContexts lists where a file mentions context.Background or TODO.
func madeUpContexts(t *testing.T, path string, src any) (places []string) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, src, 0)
	must(t, err)
	name := ""
	for _, i := range f.Imports {
		if i.Path.Value != `"context"` {
			continue
		}
		name = "context"
		if i.Name != nil {
			name = i.Name.Name
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && x.Name == name && (sel.Sel.Name == "Background" || sel.Sel.Name == "TODO") {
			places = append(places, fmt.Sprintf("%s: %s.%s", files.Position(sel.Pos()), name, sel.Sel.Name))
		}
		return true
	})
	return places
}

func TestCoreImportsNoPlugin(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir // programs of tests are no plugins
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			if strings.Contains(i.Path.Value, "agentd/plugins") || strings.Contains(i.Path.Value, "agentd/cmd") {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
		return nil
	})
	must(t, err)
}
