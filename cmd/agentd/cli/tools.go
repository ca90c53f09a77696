package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

func newTools(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "tools",
		Short:   "List, show, search and call tools",
		Example: "  agentd tools\n  agentd tools show read_file\n  agentd tools call read_file '{\"path\":\"README.md\"}'",
		Args:    noArgs,
	}
	toolsList.command(s.withTarget, c, seenBy(c), printTools)
	return listing(c, "List the tools that an agent may see",
		newToolsShow(s), newToolsSearch(s), newToolsCall(s), newToolsWhy(s), newToolsStats(s))
}

func newToolsShow(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a tool's description, policy and schema",
		Example: "  agentd tools show read_file",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}
	return toolsShow.command(s.withTarget, c, theTool(c), printTool)
}

// seenBy reads which agent is to see the tools.
func seenBy(c *cobra.Command) func([]string) (listTools, error) {
	agent := agentFlag(c)
	return func([]string) (listTools, error) { return listTools{*agent}, nil }
}

// theTool reads which tool is meant, and which agent is to see it.
func theTool(c *cobra.Command) func([]string) (showTool, error) {
	agent := agentFlag(c)
	return func(args []string) (showTool, error) { return showTool{*agent, args[0]}, nil }
}

func newToolsCall(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Run a tool under the same policy as an agent's call",
		Long: "call runs a tool as you, under the policy that holds for an agent's calls.\n" +
			"The arguments are a JSON object; - reads it from stdin; none means {}.",
		Example: "  agentd tools call read_file '{\"path\":\"README.md\"}'",
		Args:    wantArgs(cobra.RangeArgs(1, 2)),
	}
	agent, asJSON := agentFlag(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		raw, err := argumentsOf(c.Context(), args[1:])
		if err != nil {
			return err
		}
		return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
			out, err := callFrom(ctx, t, callTool{Agent: *agent, Name: args[0], Args: raw})
			if err != nil {
				return err
			}
			return showResult(out, *asJSON)
		})
	}
	s.registerPolicy(c.Flags())
	return c
}

// callFrom makes a call whose questions reach the person at this terminal,
// wherever the host is.
func callFrom(ctx context.Context, t target, in callTool) (core.Result, error) {
	if t.local != nil {
		defer t.local.askHere(ctx)()
		return in.run(ctx, t.local)
	}
	asker, ok := askerHere()
	if !ok {
		return t.remote.call(ctx, in, nil)
	}
	return t.remote.call(ctx, in, asker)
}

// argumentsOf reads a call's arguments as they were typed.
func argumentsOf(ctx context.Context, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	raw := []byte(args[0])
	if args[0] == "-" {
		var err error
		if raw, err = io.ReadAll(readUntil(ctx, os.Stdin)); err != nil {
			return nil, err
		}
	}
	if !json.Valid(raw) {
		return nil, usageError(fmt.Errorf("the arguments are no JSON: %s (as in '{\"path\":\"README.md\"}')", visible(string(raw))))
	}
	return raw, nil
}

// showResult prints a result; a failed call is the command's error.
func showResult(r core.Result, asJSON bool) error {
	if asJSON {
		if err := printJSON(os.Stdout, r); err != nil {
			return err
		}
	} else if r.Err == nil {
		fmt.Println(strings.TrimSuffix(visibleText(r.Text()), "\n"))
	}
	switch {
	case r.Err == nil:
		return nil
	case r.Err.Code == core.CodeNobody:
		return nobodyError([]string{r.Err.Tool})
	case asJSON:
		return &codedError{exitError, nil}
	}
	return r.Err
}

// The operations on tools.
type (
	listTools struct {
		Agent string `json:"agent,omitempty"`
	}
	showTool struct {
		Agent string `json:"agent,omitempty"`
		Name  string `json:"name"`
	}
	callTool struct {
		Agent string          `json:"agent,omitempty"`
		Name  string          `json:"name"`
		Args  json.RawMessage `json:"args"`
		// Asks: the caller takes the call's questions.
		Asks    bool   `json:"asks,omitempty"`
		session string // of a call whose questions go to its caller
	}
	// toolDetail is a tool with its schema.
	toolDetail struct {
		core.Entry
		Traits     string          `json:"traits,omitempty"`
		Parameters json.RawMessage `json:"parameters"`
		Output     json.RawMessage `json:"output,omitempty"`
	}
)

var toolsList = operation[listTools, []core.Entry]{"tools/list",
	func(_ context.Context, h *running, in listTools) ([]core.Entry, error) {
		v, err := h.viewer(in.Agent)
		if err != nil {
			return nil, err
		}
		return h.Tools().Catalog(v), nil
	}}

var toolsShow = operation[showTool, toolDetail]{"tools/show",
	func(_ context.Context, h *running, in showTool) (toolDetail, error) {
		v, err := h.viewer(in.Agent)
		if err != nil {
			return toolDetail{}, err
		}
		tool, ok := find(h.Tools().List(v), in.Name, func(t core.Tool) string { return t.Name })
		entry, known := find(h.Tools().Catalog(v), in.Name, func(e core.Entry) string { return e.Name })
		if !ok || !known {
			return toolDetail{}, h.unknownTool(v, in.Name)
		}
		return toolDetail{entry, traitsOf(tool.Traits), tool.Parameters, tool.Output}, nil
	}}

// run makes the call in a host of this process.
func (in callTool) run(ctx context.Context, h *running) (core.Result, error) {
	v, err := h.viewer(in.Agent)
	if err != nil {
		return core.Result{}, err
	}
	v.User, v.Session = userName(), in.session
	return h.Tools().Execute(ctx, core.Call{Name: in.Name, Args: in.Args, Viewer: v, Via: core.ViaPerson}), nil
}

func find[T any](list []T, name string, nameOf func(T) string) (T, bool) {
	for _, item := range list {
		if nameOf(item) == name {
			return item, true
		}
	}
	var none T
	return none, false
}

func traitsOf(t core.Traits) string {
	var words []string
	if t.Parallel {
		words = append(words, "parallel")
	}
	if t.Deferred {
		words = append(words, "deferred")
	}
	if t.AlwaysLoad {
		words = append(words, "always loaded")
	}
	if t.Timeout > 0 {
		words = append(words, "time-out "+t.Timeout.String())
	}
	return strings.Join(words, ", ")
}

func printTools(w io.Writer, entries []core.Entry) {
	if len(entries) == 0 {
		fmt.Fprintln(w, "no tools")
		return
	}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = []string{e.Name, string(e.Effect), string(e.Policy), sourceOf(e), firstSentence(e.Description)}
	}
	table(w, []string{"TOOL", "EFFECT", "POLICY", "FROM", "DESCRIPTION"}, rows)
}

// sourceOf names where a tool comes from, and whether it can work now.
func sourceOf(e core.Entry) string {
	from := e.Source.Name
	if e.Source.Kind == core.FromMCP {
		from = "mcp:" + from
	}
	if e.State != "" && e.State != core.SourceReady {
		from += " (" + string(e.State) + ")"
	}
	return from
}

func printTool(w io.Writer, t toolDetail) {
	fmt.Fprintf(w, "%s\n\n%s\n\n", t.Name, visibleText(strings.TrimSpace(t.Description)))
	fmt.Fprintf(w, "effect   %s\n", t.Effect)
	if t.Policy != "" {
		fmt.Fprintf(w, "policy   %s (%s)\n", t.Policy, t.Rule)
	}
	fmt.Fprintf(w, "from     %s, %s\n", sourceOf(t.Entry), t.Owner)
	if t.Traits != "" {
		fmt.Fprintf(w, "traits   %s\n", t.Traits)
	}
	fmt.Fprintf(w, "\nparameters\n%s\n", indentJSON(t.Parameters))
}
