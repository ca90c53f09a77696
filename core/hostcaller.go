package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"

	"github.com/agentd-host/agentd/core/llm"
)

// HostCaller is the caller behind calls of our own agents and people: forms go
// to the person of v's session, samplings to this agent's model, and its root
// is the workspace. from tells the person who asks.
func HostCaller(c *Context, v Viewer, from string) Caller {
	return asking{Caller: hostCaller{c, v, from, c.Logger()}}
}

type hostCaller struct {
	place  *Context // whose services it uses
	viewer Viewer
	from   string
	log    *slog.Logger
}

// Can tells whether the service for it is there. Whether a person is, shows
// when it is asked.
func (h hostCaller) Can(q Inquiry) bool {
	switch q.(type) {
	case *Elicitation:
		return h.place.active(Approvals.h) != nil
	case *Sampling:
		return h.place.active(Models.h) != nil
	default:
		return h.place.active(Workspace.h) != nil
	}
}

func (h hostCaller) Ask(ctx context.Context, qs ...Inquiry) error {
	for _, q := range qs {
		if !h.Can(q) {
			return fmt.Errorf("%w: no plugin is loaded that could answer %s", ErrNobodyToAsk, kindOf(q))
		}
	}
	for _, q := range qs {
		if err := h.ask(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(q Inquiry) string {
	switch q.(type) {
	case *Elicitation:
		return "a form"
	case *Sampling:
		return "a question to a model"
	default:
		return "which folders there are"
	}
}

func (h hostCaller) ask(ctx context.Context, q Inquiry) error {
	switch q := q.(type) {
	case *Elicitation:
		question := Question{Session: h.viewer.Asks(), From: h.from, Text: q.Text, Schema: q.Schema}
		return useActive(ctx, h.place, Approvals, func(ctx context.Context, b Broker) (err error) {
			q.Reply, err = b.Ask(ctx, question)
			return err
		})
	case *Sampling:
		return useActive(ctx, h.place, Models, func(ctx context.Context, r ModelRegistry) error {
			return h.sample(ctx, r, q)
		})
	case *Roots:
		return useActive(ctx, h.place, Workspace, func(_ context.Context, r Root) error {
			u := url.URL{Scheme: "file", Path: filepath.ToSlash(r.Path())}
			q.Folders = []Folder{{URI: u.String(), Name: filepath.Base(r.Path())}}
			return nil
		})
	}
	return fmt.Errorf("no way to answer %T", q)
}

func (h hostCaller) sample(ctx context.Context, r ModelRegistry, q *Sampling) error {
	model, name, err := r.Resolve("auto")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNobodyToAsk, err)
	}
	req := q.Request
	req.Viewer = h.viewer.LLM()
	var c llm.Collector
	for ev, err := range model.Stream(ctx, &req) {
		if err != nil {
			return err
		}
		c.Add(ev)
	}
	q.Answer, q.Model = c.Answer().Message, name
	if q.Answer.Text() == "" {
		return errors.New("the model wrote no text")
	}
	return nil
}

// Tell writes messages to the log. Progress is told by [ToolProgress].
func (h hostCaller) Tell(n Notice) {
	m, ok := n.(LogMessage)
	if !ok {
		return
	}
	text, ok := m.Data.(string)
	if !ok {
		text = fmt.Sprint(m.Data)
	}
	h.log.Log(h.place, m.Level, text, "from", h.from, "logger", m.Logger)
}

// useActive calls f with a service under a lease, on behalf of a call: no need
// of it was declared.
func useActive[T any](ctx context.Context, c *Context, s Service[T], f func(context.Context, T) error) error {
	prov := c.active(s.h)
	if prov == nil {
		return fmt.Errorf("%s: %w", s.h.name, ErrUnavailable)
	}
	call, ok := prov.node.gate.begin(c.host.hosted(ctx), &prov.node)
	if !ok {
		return fmt.Errorf("%s: %w", s.h.name, ErrUnavailable)
	}
	defer call.end()
	return prov.act.fiber.guard("answer of", &prov.node, func() error { return f(call, *prov.value.(*T)) })
}
