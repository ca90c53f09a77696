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
		Description: "Read a text file of the workspace, whole or by pages of lines. " +
			"A note in brackets at the end says which lines were shown and how to read on.",
	}, t.folder.read)
	addPathTool(&l, t, core.Tool{
		Name: "list_files", Title: "List files", Traits: read,
		Description: "List the files and folders of a folder in the workspace, or find files by a glob at any depth. " +
			"What .gitignore excludes is left out.",
	}, t.folder.list)
	addPathTool(&l, t, core.Tool{
		Name: "search_files", Title: "Search in files", Traits: read,
		Description: "Search the contents of files with a regular expression (path:line: text), or find files by name. " +
			"What .gitignore excludes is left out.",
	}, t.folder.search)
	addPathTool(&l, t, core.Tool{
		Name: "write_file", Title: "Write a file", Traits: write,
		Description: "Create a file in the workspace or replace its whole content, in one step. " +
			"To change a part of a file use edit_file.",
	}, t.folder.write)
	addPathTool(&l, t, core.Tool{
		Name: "edit_file", Title: "Edit a file", Traits: write,
		Description: "Replace an exact piece of text in a file of the workspace. " +
			"The text must occur once, unless replace_all is set.",
	}, t.folder.edit)
	addTool(&l, core.Tool{
		Name: "run_command", Title: "Run a command",
		Traits:     core.Traits{Effect: core.Exec, AlwaysLoad: true},
		Permission: commandPermission,
		Description: "Run a program, or a command line of the shell, in the workspace and return its output and " +
			"exit code. It has no terminal; whatever it leaves running is ended.",
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

// addTool adds a tool whose arguments are an In.
func addTool[In any](
	l *toolList, tool core.Tool, run func(context.Context, *core.Invocation, In) (core.Result, error),
) {
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
		return run(ctx, call, in)
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

// addPathTool adds a tool that works on one path. What it may touch is decided
// by the path's text; where a link makes that another file, the call is made
// again for the file's real name, so that rules and people see what it is.
func addPathTool[In pathInput](
	l *toolList, t *tools, tool core.Tool, run func(ctx context.Context, name string, in In) (string, error),
) {
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
	addTool(l, tool, func(ctx context.Context, call *core.Invocation, in In) (core.Result, error) {
		written, err := t.folder.lexical(in.target())
		if err != nil {
			return core.Result{}, err
		}
		real, err := t.folder.resolve(in.target())
		if err != nil {
			return core.Result{}, err
		}
		if real != written {
			return t.again(ctx, call, real)
		}
		text, err := run(ctx, real, in)
		return core.TextResult(text), err
	})
}

// again makes the call for another path.
func (t *tools) again(ctx context.Context, call *core.Invocation, path string) (core.Result, error) {
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return core.Result{}, err
	}
	var err error
	if args["path"], err = json.Marshal(path); err != nil {
		return core.Result{}, err
	}
	next := call.Call
	next.ID += ":link"
	if next.Args, err = json.Marshal(args); err != nil {
		return core.Result{}, err
	}
	return t.c.Tools().Execute(ctx, next), nil
}

func (t *tools) run(ctx context.Context, _ *core.Invocation, in commandInput) (core.Result, error) {
	res, err := t.folder.run(ctx, in, t.commands)
	if err != nil {
		return core.Result{}, err
	}
	return core.TextResult(answerOf(res)), nil
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
