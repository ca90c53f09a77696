package toolpolicy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
)

// hookTimeout bounds how long all listeners to core.ToolDecide may take.
const hookTimeout = 10 * time.Second

var errHookHangs = fmt.Errorf("tool:decide: no answer within %v", hookTimeout)

// objection is what hooks hold against a call; no By: nothing.
type objection core.Objection

func (o *objection) rule() string { return "hook of " + o.By }

// objections asks every listener. A deny of any is the answer, else that any
// asks, with all reasons.
func (p *policing) objections(ctx context.Context, req *core.DecideRequest) (objection, error) {
	if !core.ToolDecide.Heard(ctx) {
		return objection{}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, hookTimeout, errHookHangs)
	defer cancel()
	type answer struct {
		list []core.Objection
		err  error
	}
	answered := make(chan answer, 1)
	err := p.c.Go("tool:decide", func(context.Context) error {
		list, err := core.ToolDecide.All(ctx, *req)
		answered <- answer{list, err}
		return nil
	})
	if err != nil {
		return objection{}, err
	}
	select {
	case a := <-answered:
		return merged(a.list), a.err
	case <-ctx.Done():
		return objection{}, context.Cause(ctx)
	}
}

// merged makes one objection of many.
func merged(list []core.Objection) objection {
	var all objection
	var by, reasons []string
	for _, o := range list {
		if all.Deny && !o.Deny {
			continue
		}
		if o.Deny && !all.Deny {
			all.Deny, by, reasons = true, nil, nil
		}
		if o.By == "" {
			o.By = "a plugin"
		}
		by = append(by, o.By)
		if o.Reason != "" {
			reasons = append(reasons, o.Reason)
		}
	}
	all.By, all.Reason = strings.Join(by, ", "), strings.Join(reasons, "; ")
	if all.Deny && all.Reason == "" {
		all.Reason = "a check refused this call"
	}
	return all
}
