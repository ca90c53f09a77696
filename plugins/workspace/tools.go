package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// tools are the plugin's tools, during one activation.
type tools struct {
	c        *core.Context
	folder   *folder
	commands commandLimits
}

// all returns the definitions. None of them is deferred: they are what work
// in a folder is made of.
func (t *tools) all() ([]core.Tool, error) {
	var l toolList
	read := core.Traits{Effect: core.Read, Parallel: true, AlwaysLoad: true}
	write := core.Traits{Effect: core.Write, AlwaysLoad: true}
	addPathTool(&l, t, core.Tool{
		Name: "read_file", Title: "Read a file", Traits: read,
		Description: "Read a text file of the workspace, whole or by pages of lines. A note in brackets at the end says which lines were shown and how to read on.",
	}, t.folder.read)
	addPathTool(&l, t, core.Tool{
		Name: "list_files", Title: "List files", Traits: read,
		Description: "List the files and folders of a folder in the workspace, or find files by a glob at any depth. What .gitignore excludes is left out.",
	}, t.folder.list)
	addPathTool(&l, t, core.Tool{
		Name: "search_files", Title: "Search in files", Traits: read,
		Description: "Search the contents of files with a regular expression (path:line: text), or find files by name. What .gitignore excludes is left out.",
	}, t.folder.search)
	addPathTool(&l, t, core.Tool{
		Name: "write_file", Title: "Write a file", Traits: write,
		Description: "Create a file in the workspace or replace its whole content, in one step. To change a part of a file use edit_file.",
	}, t.folder.write)
	addPathTool(&l, t, core.Tool{
		Name: "edit_file", Title: "Edit a file", Traits: write,
		Description: "Replace an exact piece of text in a file of the workspace. The text must occur once, unless replace_all is set.",
	}, t.folder.edit)
	addTool(&l, core.Tool{
		Name: "run_command", Title: "Run a command",
		Traits:      core.Traits{Effect: core.Exec, AlwaysLoad: true},
		Permission:  commandPermission,
		Description: "Run a program, or a command line of the shell, in the workspace and return its output and exit code. It has no terminal; whatever it leaves running is ended.",
	}, t.run)
	t.addTodos(&l)
	t.addAsk(&l)
	return l.tools, errors.Join(l.errs...)
}

// toolList collects definitions.
type toolList struct {
	tools []core.Tool
	errs  []error
}

// addTool adds a tool whose arguments are an In and whose result is a text.
func addTool[In any](l *toolList, tool core.Tool, run func(context.Context, *core.Invocation, In) (string, error)) {
	raw, err := schema.For(reflect.TypeFor[In]())
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s: %w", tool.Name, err))
	}
	tool.Parameters = raw
	tool.Subsystem = "Workspace"
	tool.RenderCall, tool.RenderResult = renderCall(tool.Name), renderResult
	tool.Run = func(ctx context.Context, call *core.Invocation) (core.Result, error) {
		var in In
		if err := schema.Decode(call.Args, &in); err != nil {
			return core.Result{}, err
		}
		text, err := run(ctx, call, in)
		return core.TextResult(text), err
	}
	l.tools = append(l.tools, tool)
}

// pathInput is implemented by arguments that name one file or folder.
type pathInput interface{ target() string }

func (in readInput) target() string   { return in.Path }
func (in listInput) target() string   { return cmp.Or(in.Path, ".") }
func (in searchInput) target() string { return cmp.Or(in.Path, ".") }
func (in writeInput) target() string  { return in.Path }
func (in editInput) target() string   { return in.Path }

// addPathTool adds a tool that works on one path: what it may touch is
// decided before by the path's text, and here by the file's real name.
func addPathTool[In pathInput](l *toolList, t *tools, tool core.Tool, run func(context.Context, string, In) (string, error)) {
	tool.Permission = func(args json.RawMessage) ([]core.Permission, error) {
		var in In
		if err := schema.Decode(args, &in); err != nil {
			return nil, err
		}
		name, err := t.folder.lexical(in.target())
		if err != nil {
			return nil, err
		}
		return t.folder.permissions(tool.Name, name, tool.Traits.Effect), nil
	}
	addTool(l, tool, func(ctx context.Context, call *core.Invocation, in In) (string, error) {
		name, err := t.name(ctx, call, in.target())
		if err != nil {
			return "", err
		}
		return run(ctx, name, in)
	})
}

func (t *tools) run(ctx context.Context, call *core.Invocation, in commandInput) (string, error) {
	res, err := t.folder.run(ctx, in, t.commands)
	if err != nil {
		return "", err
	}
	return res.answer(), nil
}

// name resolves the path of a call. Rules and people saw the path as it was
// written; if a link makes it another file, that one must be allowed too.
func (t *tools) name(ctx context.Context, call *core.Invocation, p string) (string, error) {
	written, err := t.folder.lexical(p)
	if err != nil {
		return "", err
	}
	real, err := t.folder.resolve(p)
	if err != nil || real == written {
		return real, err
	}
	reason := fmt.Sprintf("%s leads to %s through a symbolic link", written, real)
	for _, need := range t.folder.permissions(call.Tool.Name, real, call.Tool.Traits.Effect) {
		if err := t.authorize(ctx, call, need, reason); err != nil {
			return "", fmt.Errorf("%s: %w", reason, err)
		}
	}
	return real, nil
}

func (t *tools) authorize(ctx context.Context, call *core.Invocation, need core.Permission, reason string) error {
	err := core.Permissions.Use(t.c, ctx, func(ctx context.Context, a core.Authorizer) error {
		return a.Authorize(ctx, call.Viewer, need, reason)
	})
	if errors.Is(err, core.ErrUnavailable) {
		if call.Tool.Traits.Effect == core.Read {
			return nil
		}
		return errors.New("nothing decides about that; name the file itself")
	}
	return err
}

// register puts all tools into the registry, as one change.
func (t *tools) register() error {
	all, err := t.all()
	if err != nil {
		return err
	}
	return t.c.Tools().Batch(func(b *core.ToolBatch) error {
		for _, tool := range all {
			b.Define(tool)
		}
		return nil
	})
}
