package workspace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/workspace/internal/command"
)

const renderedBytes = 120

// renderCall gives one line for people: the tool and what it is about.
func renderCall(tool string) func(json.RawMessage) string {
	return func(args json.RawMessage) string {
		var in struct {
			Path, Pattern, Name, Command, Question string
			Argv                                   []string
			Todos                                  []json.RawMessage
		}
		if json.Unmarshal(args, &in) != nil {
			return tool
		}
		about := []string{in.Path}
		switch tool {
		case "list_files":
			about = []string{cmp.Or(in.Path, "."), in.Pattern}
		case "search_files":
			about = []string{quoted(in.Pattern), in.Name, in.Path}
		case "run_command":
			about = []string{cmp.Or(in.Command, command.Line(in.Argv))}
		case "todo_write":
			about = nil
			if len(in.Todos) > 0 {
				about = []string{plural(len(in.Todos), "item")}
			}
		case "ask_user":
			about = []string{in.Question}
		}
		return oneLine(tool + " " + strings.Join(about, " "))
	}
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("%q", s)
}

// renderResult gives one line: the error, else the note at the end of the
// answer, else its size.
func renderResult(res core.Result) string {
	if res.Err != nil {
		return oneLine(res.Err.Message)
	}
	text := strings.TrimSuffix(res.Text(), "\n")
	last := text[strings.LastIndexByte(text, '\n')+1:]
	switch {
	case strings.HasPrefix(last, "[") && strings.HasSuffix(last, "]"):
		return oneLine(last[1 : len(last)-1])
	case last == text:
		return oneLine(text)
	}
	return plural(lineCount(text), "line")
}

// oneLine joins the words of s, makes visible what hides, and cuts.
func oneLine(s string) string {
	s = visible(strings.Join(strings.Fields(s), " "))
	if short := cut(s, renderedBytes); short != s {
		return short + "..."
	}
	return s
}
