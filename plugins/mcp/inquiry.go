package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A patron is an MCP client as a tool, prompt or resource of ours sees it that
// runs on its behalf.
type patron struct {
	*client
	outbox *outbox
}

// Can tells whether the client declared that it answers such inquiries.
func (p patron) Can(q core.Inquiry) bool {
	switch q.(type) {
	case *core.Elicitation:
		return p.canElicit()
	case *core.Sampling:
		return p.caps != nil && p.caps.Sampling != nil
	case *core.Roots:
		return p.caps != nil && p.caps.RootsV2 != nil
	}
	return false
}

// Ask asks the client: one after the other while its call waits, in the modern
// era all in one round. What that client does not answer is asked again, with
// which it may go on as long as it likes.
func (p patron) Ask(ctx context.Context, qs ...core.Inquiry) error {
	for _, q := range qs {
		if !p.Can(q) {
			return p.lack(q)
		}
	}
	if p.job != nil {
		return p.askInRounds(ctx, qs)
	}
	for _, q := range qs {
		res, err := p.put(ctx, requestFor(q))
		if err != nil {
			return err
		}
		if err := fill(q, res); err != nil {
			return err
		}
	}
	return nil
}

// askInRounds takes the answers that came with the call, and asks for the
// others.
func (p patron) askInRounds(ctx context.Context, qs []core.Inquiry) error {
	open := map[string]core.Inquiry{}
	for i, q := range qs {
		name := core.InquiryName(q, i)
		if open[name] != nil {
			return fmt.Errorf("two inquiries are named %q: give each a name of its own", name)
		}
		open[name] = q
	}
	answers := p.job.given
	for {
		requests := mcp.InputRequestMap{}
		for name, q := range open {
			if answers[name] != nil && fill(q, answers[name]) == nil {
				delete(open, name)
				continue
			}
			requests[name] = requestFor(q)
		}
		if len(open) == 0 {
			return nil
		}
		var err error
		if answers, err = p.job.put(ctx, requests); err != nil {
			return err
		}
	}
}

// Tell sends a notice beside the call's result.
func (p patron) Tell(n core.Notice) {
	switch n := n.(type) {
	case core.Progress:
		p.outbox.put("notifications/progress", encode(&mcp.ProgressNotificationParams{
			Progress: n.Done, Total: n.Total, Message: n.Message,
		}))
	case core.LogMessage:
		p.outbox.put("notifications/message", encode(&mcp.LoggingMessageParams{
			Level: wireLevel(n.Level), Logger: n.Logger, Data: n.Data,
		}))
	}
}

func wireLevel(l slog.Level) mcp.LoggingLevel {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warning"
	}
	return "error"
}

// lack says that the client can't be asked. In the modern era the protocol has
// an error for that, which the call ends with unless the tool knows better.
func (p patron) lack(q core.Inquiry) error {
	caps, what := &mcp.ClientCapabilities{}, ""
	switch q.(type) {
	case *core.Elicitation:
		what, caps.Elicitation = "elicitation", &mcp.ElicitationCapabilities{}
	case *core.Sampling:
		what, caps.Sampling = "sampling", &mcp.SamplingCapabilities{}
	case *core.Roots:
		what, caps.RootsV2 = "roots", &mcp.RootCapabilities{}
	}
	err := fmt.Errorf("%w: the MCP client did not declare the capability %s", core.ErrNobodyToAsk, what)
	if p.job == nil {
		return err
	}
	return &lackError{err, &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: err.Error(),
		Data:    encode(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: caps}),
	}}
}

// A lackError says the same to the tool and to the protocol.
type lackError struct {
	error
	wire *jsonrpc.Error
}

func (e *lackError) Unwrap() []error { return []error{e.error, e.wire} }

// requestFor is an inquiry on the wire.
func requestFor(q core.Inquiry) mcp.InputRequest {
	switch q := q.(type) {
	case *core.Elicitation:
		schema := q.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		return &mcp.ElicitParams{Mode: "form", Message: q.Text, RequestedSchema: schema}
	case *core.Sampling:
		return samplingParams(&q.Request)
	}
	return &mcp.ListRootsParams{}
}

func samplingParams(req *llm.Request) *mcp.CreateMessageWithToolsParams {
	p := &mcp.CreateMessageWithToolsParams{
		SystemPrompt: llm.PartsText(req.System), MaxTokens: int64(req.Limits.MaxTokens),
	}
	if p.MaxTokens <= 0 {
		p.MaxTokens = maxSampling
	}
	if t := req.Limits.Temperature; t != nil {
		p.Temperature = *t
	}
	for _, m := range req.Messages {
		out := &mcp.SamplingMessageV2{Role: roleOf(m)}
		for _, part := range m.Parts {
			switch part.Kind {
			case llm.ImagePart:
				out.Content = append(out.Content, &mcp.ImageContent{Data: part.Data, MIMEType: part.MIME})
			case llm.AudioPart:
				out.Content = append(out.Content, &mcp.AudioContent{Data: part.Data, MIMEType: part.MIME})
			case llm.TextPart, llm.ResourcePart:
				out.Content = append(out.Content, &mcp.TextContent{Text: part.Text})
			}
		}
		p.Messages = append(p.Messages, out)
	}
	return p
}

func roleOf(m llm.Message) mcp.Role {
	if m.Role == llm.Assistant {
		return "assistant"
	}
	return "user"
}

// fill takes over the client's answer, if it is one to the inquiry.
func fill(q core.Inquiry, res mcp.InputResponse) error {
	switch q := q.(type) {
	case *core.Elicitation:
		r, err := answerAs[*mcp.ElicitResult](res, nil)
		if err != nil {
			return err
		}
		q.Reply = core.Reply{Declined: r.Action != "accept"}
		if r.Content != nil {
			q.Reply.Data = encode(r.Content)
		}
	case *core.Sampling:
		r, err := answerAs[*mcp.CreateMessageWithToolsResult](res, nil)
		if err != nil {
			return err
		}
		q.Model, q.Answer = r.Model, llm.Message{Role: llm.Assistant}
		for _, c := range r.Content {
			q.Answer.Parts = append(q.Answer.Parts, readBlock(encode(c)))
		}
	case *core.Roots:
		r, err := answerAs[*mcp.ListRootsResult](res, nil)
		if err != nil {
			return err
		}
		q.Folders = nil
		for _, root := range r.Roots {
			q.Folders = append(q.Folders, core.Folder{URI: root.URI, Name: root.Name})
		}
	}
	return nil
}

var _ core.Caller = patron{}
