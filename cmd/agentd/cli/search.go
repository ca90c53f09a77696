package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/plugins/toolsearch"
	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

func newToolsSearch(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Search the tools, by the index that models search",
		Example: "  agentd tools search send a mail\n  agentd tools search --explain 发邮件",
		Args:    wantArgs(cobra.MinimumNArgs(1)),
	}
	agent := agentFlag(c)
	var in searchTools
	c.Flags().IntVar(&in.Limit, "limit", 10, "how many at most; 0 = all")
	c.Flags().BoolVar(&in.Explain, "explain", false, "show how each score came about")
	return toolsSearch.command(s.withTarget, c, func(args []string) (searchTools, error) {
		in.Agent, in.Query = *agent, strings.TrimSpace(strings.Join(args, " "))
		if in.Query == "" || in.Limit < 0 {
			return in, usageError(errors.New("want words to search for, and a limit of 0 or more: agentd tools search send a mail"))
		}
		return in, nil
	}, printFound)
}

func newToolsStats(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "stats",
		Short:   "Tell what the tools cost in tokens, and which searches led nowhere",
		Example: "  agentd tools stats",
		Args:    noArgs,
	}
	return toolsStats.command(s.withTarget, c, seenBy(c), printStats)
}

// searchTools asks for tools.
type searchTools struct {
	Agent   string `json:"agent,omitempty"`
	Query   string `json:"query"`
	Limit   int    `json:"limit,omitempty"`
	Explain bool   `json:"explain,omitempty"`
}

// errNoSearch says what to do where the plugin does not run.
var errNoSearch = errors.New("the plugin toolsearch does not run: add `toolsearch: {}` under plugins")

// The operations of search.
var (
	toolsSearch = operation[searchTools, []toolsearch.Found]{"tools/search",
		func(ctx context.Context, h *running, in searchTools) ([]toolsearch.Found, error) {
			search, ok := toolsearch.Service.Get(h.Context)
			if !ok {
				return nil, errNoSearch
			}
			v, err := h.viewer(in.Agent)
			if err != nil {
				return nil, err
			}
			return search.Find(h.within(ctx), v, toolsearch.Query{Text: in.Query, Limit: in.Limit, Explain: in.Explain})
		}}
	toolsStats = operation[listTools, toolsearch.Stats]{"tools/stats",
		func(ctx context.Context, h *running, in listTools) (toolsearch.Stats, error) {
			search, ok := toolsearch.Service.Get(h.Context)
			if !ok {
				return toolsearch.Stats{}, errNoSearch
			}
			v, err := h.viewer(in.Agent)
			if err != nil {
				return toolsearch.Stats{}, err
			}
			return search.Stats(h.within(ctx), v, h.modelOf(v.Agent))
		}}
)

func printFound(w io.Writer, found []toolsearch.Found) {
	if len(found) == 0 {
		fmt.Fprintln(w, "nothing found; agentd tools lists all")
		return
	}
	rows := make([][]string, len(found))
	for i, f := range found {
		rows[i] = []string{fmt.Sprintf("%.2f", f.Score), f.Name, firstSentence(f.Description)}
	}
	table(w, []string{"SCORE", "TOOL", "DESCRIPTION"}, rows)
	for _, f := range found {
		if f.Explanation != nil {
			fmt.Fprintf(w, "\n%s: %s\n", f.Name, explained(f.Explanation))
		}
	}
}

// explained is where a score comes from, in one line.
func explained(e *index.Explanation) string {
	var parts []string
	if e.Exact != "" {
		parts = append(parts, "exact "+e.Exact)
	}
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		if e.Fields[field] != 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", field, e.Fields[field]))
		}
	}
	for _, part := range []struct {
		name  string
		value float64
	}{{"coverage x", e.Coverage}, {"like words", e.Neighbours}, {"direction", e.Direction}} {
		if part.value != 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", part.name, part.value))
		}
	}
	return strings.Join(parts, ", ")
}

// failedShown is how many failed searches are printed.
const failedShown = 20

func printStats(w io.Writer, s toolsearch.Stats) {
	fmt.Fprintf(w, "tools                 %d in %d groups\n", s.Tools, len(s.Groups))
	fmt.Fprintf(w, "tokens of all         %d\n", s.TokensAll)
	fmt.Fprintf(w, "shown to the model    %d tools, %d tokens with the listing\n", s.Shown, s.TokensShown)
	if s.TokensAll > 0 {
		fmt.Fprintf(w, "saved                 %.1f %%\n", 100*(1-float64(s.TokensShown)/float64(s.TokensAll)))
	}
	if s.Searches == 0 {
		return
	}
	fmt.Fprintf(w, "searches              %d\n", s.Searches)
	shown := s.Failed[:min(len(s.Failed), failedShown)]
	for _, f := range shown {
		fmt.Fprintf(w, "  %q: found nothing %d times, led to no call %d times\n", visible(f.Query), f.Nothing, f.NoCall)
	}
	if more := len(s.Failed) - len(shown); more > 0 {
		fmt.Fprintf(w, "  and %d more, see --json\n", more)
	}
}
