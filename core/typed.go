package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/schema"
)

// DefineTool registers a tool whose arguments are a Go struct, until c's scope
// ends. The schema comes from In (see [schema.For]), unless tool.Parameters
// has one; run gets the arguments decoded, with defaults filled in.
//
// What run returns becomes the result: a [Result] as it is, a string or
// []llm.Part as what a model reads, anything else as JSON, structured and as
// text. To ask, deny or tell progress, run uses [CurrentInvocation].
func DefineTool[In, Out any](c *Context, tool Tool, run func(ctx context.Context, in In) (Out, error)) error {
	typed, err := TypedTool(tool, run)
	if err != nil {
		return err
	}
	return c.Tools().Define(typed)
}

// TypedTool is the tool that [DefineTool] registers, for [Tools.Replace] and
// [Tools.Batch].
func TypedTool[In, Out any](tool Tool, run func(ctx context.Context, in In) (Out, error)) (Tool, error) {
	if tool.Run != nil {
		return tool, fmt.Errorf("tool %q: it has a function already", tool.Name)
	}
	if run == nil {
		return tool, fmt.Errorf("tool %q: it has no function to run", tool.Name)
	}
	if err := tool.describe(reflect.TypeFor[In]()); err != nil {
		return tool, fmt.Errorf("tool %q: %w", tool.Name, err)
	}
	name := tool.Name
	tool.Run = func(ctx context.Context, call *Invocation) (Result, error) {
		var in In
		if err := schema.Decode(call.Args, &in); err != nil {
			return Result{}, decodeError(name, err)
		}
		out, err := run(ctx, in)
		r, encodeErr := resultOf(out)
		if err != nil {
			return r, err
		}
		return r, encodeErr
	}
	return tool, nil
}

// describe fills in the schema of the arguments if it is not given. The result
// gets none: encoding/json writes a nil slice as null and a duration as a
// number, which a schema made from the type would not allow.
func (t *Tool) describe(in reflect.Type) (err error) {
	if t.Parameters != nil {
		return nil
	}
	if in.Kind() != reflect.Struct && in.Kind() != reflect.Map {
		return fmt.Errorf("the arguments are a %s: they must be a struct or a map", in)
	}
	t.Parameters, err = schema.For(in)
	return err
}

// decodeError is for arguments that pass the schema and still do not fit the
// type, such as an integer out of range.
func decodeError(tool string, err error) error {
	e := &ToolError{Code: CodeArguments, Tool: tool, Message: "invalid arguments: " + err.Error(), Cause: err}
	var issues schema.Issues
	if errors.As(err, &issues) && len(issues) > 0 {
		e.Path, e.Constraint = issues[0].Path, issues[0].Want
	}
	return e
}

func resultOf(out any) (Result, error) {
	switch out := out.(type) {
	case nil, struct{}:
		return Result{}, nil
	case Result:
		return out, nil
	case *Result:
		if out == nil {
			return Result{}, nil
		}
		return *out, nil
	case string:
		return TextResult(out), nil
	case []llm.Part:
		return Result{Parts: out}, nil
	case json.RawMessage:
		return Result{Structured: out}, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("the result has no JSON form: %w", err)
	}
	return Result{Structured: raw}, nil
}
