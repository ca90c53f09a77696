package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// slashCommand is what a line that begins with / runs.
type slashCommand struct {
	name, args, help string
	run              func(ctx context.Context, t *conversation, w io.Writer, args string) error
}

// slashCommands is a function, not a variable: /help lists them.
func slashCommands() []slashCommand {
	return []slashCommand{
		{"tools", "", "list the tools that this agent may see", slashTools},
		{"search", "WORDS", "search the tools", slashSearch},
		{"call", "TOOL [JSON]", "run a tool yourself", slashCall},
		{"policy", "TOOL VALUE", "set auto, ask or off in agent.yml", slashPolicy},
		{"clear", "", "forget this session", slashClear},
		{"cost", "", "tokens and cost of this conversation", slashCost},
		{"help", "", "this list", slashHelp},
		{"quit", "", "leave (Ctrl-D does the same)", func(context.Context, *conversation, io.Writer, string) error { return errLeave }},
	}
}

// slash runs one slash command.
func (t *conversation) slash(ctx context.Context, w io.Writer, line string) error {
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	for _, c := range slashCommands() {
		if c.name == name {
			return c.run(ctx, t, w, strings.TrimSpace(args))
		}
	}
	return fmt.Errorf("unknown command /%s; /help lists them", name)
}

func slashHelp(_ context.Context, _ *conversation, w io.Writer, _ string) error {
	for _, c := range slashCommands() {
		fmt.Fprintf(w, "  %-20s %s\n", strings.TrimSpace("/"+c.name+" "+c.args), c.help)
	}
	return nil
}

func slashTools(ctx context.Context, t *conversation, w io.Writer, _ string) error {
	entries, err := toolsList.do(ctx, target{local: t.h}, listTools{t.agent})
	if err != nil {
		return err
	}
	printTools(w, entries)
	return nil
}

func slashSearch(ctx context.Context, t *conversation, w io.Writer, args string) error {
	if args == "" {
		return errors.New("what for? /search send a mail")
	}
	found, err := toolsSearch.do(ctx, target{local: t.h}, searchTools{Agent: t.agent, Query: args, Limit: 10})
	if err != nil {
		return err
	}
	printFound(w, found)
	return nil
}

func slashCall(ctx context.Context, t *conversation, w io.Writer, args string) error {
	name, rest, _ := strings.Cut(args, " ")
	if name == "" {
		return errors.New("which tool? /call read_file {\"path\":\"README.md\"}")
	}
	var words []string
	if rest = strings.TrimSpace(rest); rest != "" {
		words = []string{rest}
	}
	raw, err := argumentsOf(ctx, words)
	if err != nil {
		return err
	}
	v, err := t.h.viewer(t.agent)
	if err != nil {
		return err
	}
	v.Session, v.User = t.session, userName()
	r := t.h.Tools().Execute(ctx, core.Call{Name: name, Args: raw, Viewer: v, Via: core.ViaPerson})
	if r.Err != nil {
		return r.Err
	}
	fmt.Fprintln(w, strings.TrimSuffix(visibleText(r.Text()), "\n"))
	return nil
}

func slashPolicy(ctx context.Context, t *conversation, w io.Writer, args string) error {
	words := strings.Fields(args)
	if len(words) != 2 {
		return errors.New("usage: /policy TOOL auto|ask|off")
	}
	rule, err := theRule(words)
	if err != nil {
		return err
	}
	done, err := policySet.run(ctx, t.h, rule)
	if err != nil {
		return err
	}
	printEdited(w, done)
	return nil
}

func slashClear(ctx context.Context, t *conversation, w io.Writer, _ string) error {
	if t.session == "" {
		return nil
	}
	if _, err := clearMemory(ctx, t.h, core.ClearRequest{Session: t.session}); err != nil {
		return err
	}
	t.session = ""
	fmt.Fprintln(w, "forgotten")
	return nil
}

func slashCost(_ context.Context, t *conversation, w io.Writer, _ string) error {
	fmt.Fprintf(w, "%d turns, %d tokens in (%d cached), %d out", t.turns, t.usage.Input, t.usage.CacheRead, t.usage.Output)
	if t.cost > 0 {
		fmt.Fprintf(w, ", %.4f", t.cost)
	}
	fmt.Fprintln(w)
	return nil
}

// clearMemory runs memory:clear.
func clearMemory(ctx context.Context, h *running, r core.ClearRequest) (core.ClearReport, error) {
	agents, ok := core.Agents.Get(h.Context)
	if !ok {
		return nil, errNoAgent
	}
	return agents.Clear(ctx, r)
}
