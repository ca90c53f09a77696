package toolsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// callParameters takes arguments in any form; shownCallParameters is what
// models are told.
var (
	callParameters = json.RawMessage(`{"type":"object","properties":{` +
		`"name":{"type":"string"},"arguments":{}},"required":["name"]}`)

	shownCallParameters = json.RawMessage(`{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The tool to run, by its full name."},` +
		`"arguments":{"type":"object","description":"Its arguments, after its own parameters."}},` +
		`"required":["name"]}`)
)

const callDescription = "Run a tool that was found, by its name, with its arguments."

// called is the answer of the call tool.
type called struct {
	OK         bool            `json:"ok"`
	Value      any             `json:"value,omitempty"`
	Error      string          `json:"error,omitempty"`
	ErrorCode  core.ErrorCode  `json:"errorCode,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Hint       string          `json:"hint,omitempty"`
}

// runCall is the call tool: it checks what can be checked without the tool
// and then goes the way of every call, under the tool's own name.
func (l *layer) runCall(ctx context.Context, inv *core.Invocation) (core.Result, error) {
	var args struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(inv.Args, &args); err != nil {
		return core.Result{}, err
	}
	if isOwn(args.Name) {
		message := args.Name + " is not run through " + callName + ": call it directly"
		return refusedCall(inv, core.CodeDenied, message), nil
	}
	v, err := l.view(ctx, inv.Call)
	if err != nil {
		return core.Result{}, err
	}
	tool, ok := v.split.found.find(args.Name)
	if !ok {
		return refusedCall(inv, core.CodeUnknown, v.unknown(args.Name)), nil
	}
	inner := core.Call{
		ID: inv.ID + viaBridge + args.Name, Name: args.Name, Args: coerce(args.Arguments, tool.Parameters),
		Viewer: inv.Viewer, Via: core.ViaBridge, MaxResult: innerCap(inv.MaxResult), Turn: inv.Turn,
	}
	result := l.c.Tools().Execute(ctx, inner)
	hint := ""
	if v.state(args.Name) == "visible" {
		hint = "This tool is in your list: next time call it directly."
	}
	return bridged(result, tool, hint, inv.MaxResult), nil
}

// unknown says that there is no such tool, and which the model may have meant.
func (v *view) unknown(name string) string {
	near := v.split.nearNames(name, nearCount)
	text := fmt.Sprintf("there is no tool %q", name)
	if len(near) > 0 {
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return text + "; search with " + v.split.s.searchTool
}

func refusedCall(inv *core.Invocation, code core.ErrorCode, message string) core.Result {
	a := called{Error: message, ErrorCode: code}
	return core.Result{
		Parts: []llm.Part{llm.Text(string(a.encode(inv.MaxResult)))},
		Err:   &core.ToolError{Code: code, Tool: inv.Name, Message: message},
	}
}

// innerCap leaves room for what is around the inner result.
func innerCap(limit int) int {
	if limit <= 0 {
		return 0
	}
	return max(limit*3/4, 1)
}

// bridged wraps the inner result. What has no text stays beside it; an error
// stays one, under the inner tool's name, with a person's stop in it.
func bridged(r core.Result, tool *core.Tool, hint string, limit int) core.Result {
	out := core.Result{Err: r.Err, Handle: r.Handle, Raw: r.Raw}
	a := called{OK: r.Err == nil, Hint: hint}
	switch {
	case r.Err != nil:
		a.Error, a.ErrorCode = r.Err.Message, r.Err.Code
		if r.Err.Code == core.CodeArguments {
			a.Error += "; the tool did not run"
			a.Parameters = tool.Parameters
		}
	case len(r.Structured) > 0 && r.Truncated == 0:
		a.Value = r.Structured
	default:
		a.Value = r.Text()
	}
	out.Parts = append(out.Parts, llm.Text(string(a.encode(limit))))
	for _, p := range r.Parts {
		if p.Text == "" {
			out.Parts = append(out.Parts, p)
		}
	}
	return out
}

// encode keeps the answer valid JSON within limit bytes: parameters are left
// out, then the end of the value or of the error.
func (a *called) encode(limit int) json.RawMessage {
	text := encode(a)
	if limit <= 0 || len(text) <= limit {
		return text
	}
	a.Parameters = nil
	if raw, ok := a.Value.(json.RawMessage); ok {
		a.Value = string(raw)
	}
	if text = encode(a); len(text) <= limit {
		return text
	}
	value, _ := a.Value.(string)
	message := a.Error
	a.Hint = "the end is cut off"
	text = longest(max(len(value), len(message)), limit, func(n int) json.RawMessage {
		a.Value, a.Error = beginning(value, n), beginning(message, n)
		return encode(a)
	})
	if text == nil {
		return encode(called{OK: a.OK})
	}
	return text
}

// beginning is n bytes of a text at most, in whole characters.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// directCalls is the middleware for calls that name a deferred tool which the
// model has not found.
func (l *layer) directCalls(next core.Handler) core.Handler {
	return func(ctx context.Context, inv *core.Invocation) core.Result {
		if text := l.refuseDirect(inv); text != "" {
			return core.ErrorResult(core.CodeDenied, inv.Name, text)
		}
		return next(ctx, inv)
	}
}

// refuseDirect says why a call is refused, "" if it is not. A model that may
// not search any more is not told to.
func (l *layer) refuseDirect(inv *core.Invocation) string {
	ses := l.sessions.peek(inv.Viewer.Session)
	st := ses.current(inv.Turn)
	if inv.Via != core.ViaModel || st == nil || st.split.pass || isOwn(inv.Name) {
		return ""
	}
	s := st.split.s
	if s.directCall == directRun || st.shown[inv.Name] || !st.split.isDeferred(inv.Name) {
		return ""
	}
	if s.directCall == directSuggest {
		if ses.suggest(inv.Name) {
			return ""
		}
		return fmt.Sprintf("%s was not found yet and did not run; its parameters are %s. "+
			"Call it with arguments that fit.", inv.Name, compact(inv.Tool.Parameters))
	}
	if ses.exhausted(s) {
		return ""
	}
	if st.split.bridged {
		return fmt.Sprintf("%s did not run: once found, with %s, it is called through %s.",
			inv.Name, s.searchTool, callName)
	}
	return fmt.Sprintf("%s was not found yet and did not run: first send %s with the query %q.",
		inv.Name, s.searchTool, inv.Name)
}

// suggest notes that a model was shown a tool's schema, and tells whether it
// had been before.
func (ses *session) suggest(name string) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	before := ses.suggested[name]
	if ses.suggested == nil {
		ses.suggested = make(map[string]bool)
	}
	ses.suggested[name] = true
	return before
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// coerce takes strings that plainly are the numbers or booleans that a schema
// wants as such, in parameters and in what they hold. Anything else stays as
// it is for the check of the arguments to judge.
func coerce(args, schema json.RawMessage) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return args
	}
	if text, ok := v.(string); ok {
		inner := json.RawMessage(strings.TrimSpace(text))
		if len(inner) > 0 && inner[0] == '{' && json.Valid(inner) {
			return coerce(inner, schema)
		}
		return args
	}
	var s any
	if json.Unmarshal(schema, &s) != nil {
		return args
	}
	fixed, changed := coerceValue(v, s, 0)
	if !changed {
		return args
	}
	return encode(fixed)
}

const coerceDepth = 16

func coerceValue(v, schema any, depth int) (any, bool) {
	s, ok := schema.(map[string]any)
	if !ok || depth > coerceDepth {
		return v, false
	}
	switch v := v.(type) {
	case string:
		return coerceText(v, s["type"])
	case map[string]any:
		changed := false
		properties, _ := s["properties"].(map[string]any)
		for name, member := range v {
			fixed, ok := coerceValue(member, properties[name], depth+1)
			v[name] = fixed
			changed = changed || ok
		}
		return v, changed
	case []any:
		changed := false
		for i, item := range v {
			fixed, ok := coerceValue(item, s["items"], depth+1)
			v[i] = fixed
			changed = changed || ok
		}
		return v, changed
	}
	return v, false
}

// coerceText reads a string where a schema takes a number or a boolean and no
// string.
func coerceText(text string, kind any) (any, bool) {
	kinds, ok := kind.([]any)
	if !ok {
		kinds = []any{kind}
	}
	if slices.Contains(kinds, any("string")) {
		return text, false
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() || strings.TrimSpace(text) != text {
		return text, false
	}
	switch v := v.(type) {
	case bool:
		if slices.Contains(kinds, any("boolean")) {
			return v, true
		}
	case json.Number:
		if slices.Contains(kinds, any("number")) || slices.Contains(kinds, any("integer")) {
			return v, true
		}
	}
	return text, false
}
