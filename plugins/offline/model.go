package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// Name is the provider's and the model's name.
const Name = "offline"

// chunk is how many bytes of text one event carries at most, so that watchers
// see a stream as with any other model.
const chunk = 256

// Model is the interpreter. The zero value is ready for use and holds no
// state: each answer follows from the request alone.
type Model struct{}

// Describe tells that the model calls tools, several in one answer.
func (Model) Describe() llm.Info {
	return llm.Info{
		Provider: Name, Model: Name,
		Capabilities: llm.Capabilities{Tools: true, ParallelCalls: true},
	}
}

// Stream answers the request: with calls, with the results of the calls that
// it asked for, or with what a search found.
func (Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		answer := answer(req)
		for ev := range answer.events(inputSize(req)) {
			if err := ctx.Err(); err != nil {
				yield(llm.Event{}, &llm.Error{
					Kind: llm.ErrCancelled, Provider: Name, Message: "cancelled", ToolIndex: -1, Cause: err,
				})
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// reply is an answer before it is streamed.
type reply struct {
	text  string
	calls []llm.ToolCall
}

// answer decides what to say to the request's last message.
func answer(req *llm.Request) reply {
	at := lastUser(req.Messages)
	if at < 0 {
		return reply{text: "Nothing was asked."}
	}
	text := strings.TrimSpace(req.Messages[at].Text())
	cmds, isCall := parse(text)
	results := resultsAfter(req.Messages, at)
	switch {
	case len(results) > 0:
		return reply{text: report(text, isCall, results, req.Tools)}
	case isCall && req.Choice.Mode != "none":
		return reply{calls: calls(cmds, req, at)}
	case text == "":
		return reply{text: "The message is empty. Type a tool's name and its arguments, or words to search for."}
	}
	return search(text, req, at)
}

// calls turns commands into tool calls. Their ids follow from the position in
// the conversation, so that equal requests get equal answers.
func calls(cmds []command, req *llm.Request, at int) []llm.ToolCall {
	out := make([]llm.ToolCall, len(cmds))
	for i, cmd := range cmds {
		out[i] = llm.ToolCall{ID: callID(at, i), Name: cmd.name, Args: cmd.arguments(schemaOf(cmd.name, req.Tools))}
	}
	return out
}

func callID(at, i int) string { return fmt.Sprintf("call_%d_%d", at, i) }

func schemaOf(name string, tools []llm.Tool) json.RawMessage {
	for _, t := range tools {
		if t.Name == name {
			return t.Parameters
		}
	}
	return nil
}

func search(query string, req *llm.Request, at int) reply {
	name := searchTool(req.Tools)
	if name == "" || req.Choice.Mode == "none" {
		return reply{text: describeHits(query, rank(query, req.Tools), req.Tools)}
	}
	args, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return reply{text: err.Error()}
	}
	return reply{calls: []llm.ToolCall{{ID: callID(at, 0), Name: name, Args: string(args)}}}
}

// report says what came back. The results of calls are shown as they are; the
// answer of a search that the interpreter itself began is put into words.
func report(query string, isCall bool, results []llm.ToolResult, tools []llm.Tool) string {
	texts := make([]string, 0, len(results))
	for _, r := range results {
		text := llm.PartsText(r.Parts)
		if !isCall && !r.IsError {
			if hits, ok := readHits(text); ok {
				text = describeHits(query, hits, tools)
			}
		}
		if r.IsError {
			text = r.Name + " failed: " + text
		}
		texts = append(texts, strings.TrimRight(text, "\n"))
	}
	return strings.Join(texts, "\n") + "\n"
}

// lastUser finds the last message that a person wrote. Messages of named
// parts alone are notes of the host (a background job ended) and no commands.
func lastUser(messages []llm.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == llm.User && (len(m.Parts) == 0 || hasUnnamed(m.Parts)) {
			return i
		}
	}
	return -1
}

func hasUnnamed(parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Name == "" })
}

func resultsAfter(messages []llm.Message, at int) []llm.ToolResult {
	var results []llm.ToolResult
	for _, m := range messages[at+1:] {
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResultPart && p.Result != nil {
				results = append(results, *p.Result)
			}
		}
	}
	return results
}

// events plays the answer as a stream.
func (r reply) events(input int) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		for text := r.text; text != ""; {
			piece := cutRunes(text, chunk)
			text = text[len(piece):]
			if !yield(llm.Event{Kind: llm.TextDelta, Text: piece}) {
				return
			}
		}
		reason, output := llm.Stop, llm.EstimateTokens(r.text)
		for i, c := range r.calls {
			reason = llm.ToolCalls
			output += llm.EstimateTokens(c.Name) + llm.EstimateTokens(c.Args)
			if !yield(llm.Event{Kind: llm.ToolCallStart, Index: i, ID: c.ID, Name: c.Name}) ||
				!yield(llm.Event{Kind: llm.ToolCallDelta, Index: i, Text: c.Args}) ||
				!yield(llm.Event{Kind: llm.ToolCallEnd, Index: i}) {
				return
			}
		}
		usage := &llm.Usage{Input: input, Output: output}
		_ = yield(llm.Event{Kind: llm.UsageReport, Usage: usage}) &&
			yield(llm.Event{Kind: llm.Finish, Reason: reason})
	}
}

// cutRunes gives the longest prefix of at most n bytes that cuts no rune.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 1 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// inputSize estimates the tokens of the request, so that counts and budgets
// can be tried offline.
func inputSize(req *llm.Request) int {
	n := 0
	for _, p := range append(req.System[:len(req.System):len(req.System)], req.Context...) {
		n += llm.EstimateTokens(p.Text)
	}
	for _, m := range req.Messages {
		n += llm.EstimateTokens(m.Text())
	}
	for _, t := range req.Tools {
		n += llm.EstimateTokens(t.Name) + llm.EstimateTokens(t.Description) + len(t.Parameters)/4
	}
	return n
}

var _ llm.Model = Model{}
