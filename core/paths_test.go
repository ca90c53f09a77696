package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestRule43_E9_RunIsCalledInOnePlace reads the whole repository. A tool's
// function can be called only through a definition's runFunc, which has one
// call, or as Tool.Run with an *Invocation, which nobody else can come by: core
// makes them in one place, and whoever is given one may not hand it to another
// Run.
func TestRule43_E9_RunIsCalledInOnePlace(t *testing.T) {
	var calls, made []string
	eachFile(t, "..", func(set *token.FileSet, path string, file *ast.File) {
		at := func(n ast.Node) string { return set.Position(n.Pos()).String() }
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "runFunc" {
					calls = append(calls, at(n))
				}
			case *ast.CompositeLit:
				if name := typeName(n.Type); name == "Invocation" || name == "core.Invocation" {
					made = append(made, at(n))
				}
			case *ast.FuncDecl:
				forbidPassingOn(t, set, n.Type, n.Body)
			case *ast.FuncLit:
				forbidPassingOn(t, set, n.Type, n.Body)
			}
			return true
		})
	})
	if len(calls) != 1 || !strings.Contains(calls[0], "flight.go") {
		t.Errorf("runFunc is called at %v, want one place in flight.go", calls)
	}
	if len(made) != 1 || !strings.Contains(made[0], "execute.go") {
		t.Errorf("invocations are made at %v, want one place in execute.go", made)
	}
}

func TestTheGuardOfRuleFortyThreeFindsOffences(t *testing.T) {
	const code = `package p
		import "github.com/agentd-host/agentd/core"
		var tool = core.Tool{Run: func(ctx context.Context, c *core.Invocation) (core.Result, error) { return other.Run(ctx, c) }}`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", code, 0)
	must(t, err)
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok {
			found += len(passedOn(f.Type, f.Body))
		}
		return true
	})
	if found != 1 {
		t.Errorf("found %d offences, want 1", found)
	}
}

func forbidPassingOn(t *testing.T, set *token.FileSet, typ *ast.FuncType, body *ast.BlockStmt) {
	t.Helper()
	for _, call := range passedOn(typ, body) {
		t.Errorf("%s: runs a tool past Execute", set.Position(call.Pos()))
	}
}

// passedOn finds the calls x.Run(..., inv) in a function with the parameter
// inv *Invocation.
func passedOn(typ *ast.FuncType, body *ast.BlockStmt) (calls []*ast.CallExpr) {
	params := map[string]bool{}
	for _, p := range typ.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok || !strings.HasSuffix("."+typeName(star.X), ".Invocation") {
			continue
		}
		for _, name := range p.Names {
			params[name.Name] = true
		}
	}
	if body == nil || len(params) == 0 {
		return nil
	}
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != "Run" {
			return true
		}
		for _, arg := range call.Args {
			if id, ok := arg.(*ast.Ident); ok && params[id.Name] {
				calls = append(calls, call)
			}
		}
		return true
	})
	return calls
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	}
	return ""
}

// eachFile parses the Go files below root that are no tests.
func eachFile(t *testing.T, root string, f func(*token.FileSet, string, *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(set, path, file)
		return nil
	})
	must(t, err)
}
