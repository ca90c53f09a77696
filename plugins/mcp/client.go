package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client is the caller behind one call of an MCP client: questions that
// come up in it go there and nowhere else.
type client struct {
	ctx     context.Context // of the client's request: it says which stream is its
	session *mcp.ServerSession
	caps    *mcp.ClientCapabilities
	// declared are its capabilities as it wrote them, in the modern era.
	declared any
	job      *job   // in the modern era
	name     string // for the session in viewer and approvals
}

func (c *client) key() any {
	if c.job != nil {
		return c.job
	}
	return c.session
}

// capabilities are the client's as it declared them, for its server.
func (c *client) capabilities() any {
	if c.declared != nil {
		return c.declared
	}
	out := map[string]any{}
	if c.caps == nil {
		return out
	}
	if c.caps.Elicitation != nil {
		out["elicitation"] = c.caps.Elicitation
	}
	if c.caps.Sampling != nil {
		out["sampling"] = c.caps.Sampling
	}
	if c.caps.RootsV2 != nil {
		out["roots"] = c.caps.RootsV2
	}
	return out
}

// within gives the client's context, ending with ctx too.
func (c *client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return both(c.ctx, ctx)
}

func lacks(what string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the client does not support " + what}
}

// canElicit tells whether the client shows forms to its user.
func (c *client) canElicit() bool {
	if c.caps == nil || c.caps.Elicitation == nil {
		return false
	}
	e := c.caps.Elicitation
	return e.Form != nil || e.URL == nil // neither is said by clients that know of no other than forms
}

func (c *client) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if c.caps == nil || c.caps.Elicitation == nil {
		return nil, lacks("elicitation")
	}
	return answerAs[*mcp.ElicitResult](c.put(ctx, p))
}

func (c *client) sample(ctx context.Context, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
	if c.caps == nil || c.caps.Sampling == nil {
		return nil, lacks("sampling")
	}
	return answerAs[*mcp.CreateMessageWithToolsResult](c.put(ctx, p))
}

func (c *client) roots(ctx context.Context) (*mcp.ListRootsResult, error) {
	if c.caps == nil || c.caps.RootsV2 == nil {
		return nil, lacks("roots")
	}
	return answerAs[*mcp.ListRootsResult](c.put(ctx, &mcp.ListRootsParams{}))
}

// put asks the client one thing and waits for its answer.
func (c *client) put(ctx context.Context, request mcp.InputRequest) (mcp.InputResponse, error) {
	if c.job != nil {
		answers, err := c.job.put(ctx, mcp.InputRequestMap{askKey: request})
		return answers[askKey], err
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	switch p := request.(type) {
	case *mcp.ElicitParams:
		return c.session.Elicit(ctx, p)
	case *mcp.CreateMessageWithToolsParams:
		return c.session.CreateMessageWithTools(ctx, p)
	case *mcp.ListRootsParams:
		return c.session.ListRoots(ctx, p)
	}
	return nil, fmt.Errorf("no way to ask %T", request)
}

func answerAs[T mcp.InputResponse](res mcp.InputResponse, err error) (T, error) {
	out, ok := res.(T)
	if err == nil && !ok {
		err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the client's answer is not what was asked for"}
	}
	return out, err
}

var _ caller = (*client)(nil)

// asker puts the questions of policy to the MCP client that made the call.
type asker struct{ g *gateway }

func (a asker) Name() string { return "mcp" }

// Takes tells whether a call of that session is under way whose client can
// put a question to its user.
func (a asker) Takes(session string) bool {
	c := a.g.callOf(session)
	return c != nil && c.canElicit()
}

// Ask asks whether a call may run.
func (a asker) Ask(ctx context.Context, q core.Approval) (core.Answer, error) {
	var kinds []string
	for _, k := range q.Answers {
		switch k {
		case core.AnswerOnce, core.AnswerSession, core.AnswerReject:
			kinds = append(kinds, string(k))
		}
	}
	res, err := a.put(ctx, q.Session, approvalText(q), choiceSchema(kinds))
	if err != nil {
		return core.Answer{}, err
	}
	answer := core.Answer{Kind: core.AnswerReject, By: "MCP client"}
	chosen, _ := res.Content["answer"].(string)
	for _, k := range kinds {
		if res.Action == "accept" && chosen == k {
			answer.Kind = core.AnswerKind(k)
		}
	}
	return answer, nil
}

// Question puts a free question.
func (a asker) Question(ctx context.Context, q core.Question) (core.Reply, error) {
	schema := q.Schema
	if len(schema) == 0 {
		schema = choiceSchema(q.Choices)
	}
	res, err := a.put(ctx, q.Session, visible(q.From+": "+q.Text), schema)
	if err != nil || res.Action != "accept" {
		return core.Reply{Declined: true}, err
	}
	reply := core.Reply{Data: encode(res.Content)}
	reply.Text, _ = res.Content["answer"].(string)
	return reply, nil
}

func (a asker) put(ctx context.Context, session, text string, schema json.RawMessage) (*mcp.ElicitResult, error) {
	c := a.clientOf(ctx, session)
	if c == nil {
		return nil, errors.New("the client's call is over")
	}
	return c.elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: text, RequestedSchema: schema})
}

// clientOf is the client of the call that the question is about, or of any
// other one of its session if the question comes from elsewhere.
func (a asker) clientOf(ctx context.Context, session string) *client {
	if g := guestOf(ctx); g != nil && g.caller.name == session {
		return g.caller
	}
	return a.g.callOf(session)
}

// choiceSchema asks for one of some words, or for a text.
func choiceSchema(choices []string) json.RawMessage {
	answer := map[string]any{"type": "string"}
	if len(choices) > 0 {
		answer["enum"] = choices
	}
	return encode(map[string]any{
		"type": "object", "properties": map[string]any{"answer": answer}, "required": []string{"answer"},
	})
}

// approvalText says what would run, whole and visible.
func approvalText(q core.Approval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "May the tool %s run (effect: %s)?", visible(q.Tool), q.Effect.Or())
	if q.Reason != "" {
		fmt.Fprintf(&b, "\nReason: %s", visible(q.Reason))
	}
	args := visible(string(q.Args))
	const width = 8000
	if len(args) > width {
		args = fmt.Sprintf("%s… (%d bytes, digest %s)", strings.ToValidUTF8(args[:width], ""), len(q.Args), q.Digest)
	}
	fmt.Fprintf(&b, "\nArguments: %s", args)
	return b.String()
}

var _ core.Questioner = asker{}
