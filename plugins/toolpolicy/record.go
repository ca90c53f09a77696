package toolpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

// auditLog is the log in use, with the options that it was opened for.
type auditLog struct {
	*audit.Log
	file   string
	rotate int64
}

// decided records a decision. Its error makes the host refuse a call that
// would write or run programs.
func (p *policing) decided(_ context.Context, e core.ToolDecision) error {
	r := p.record(audit.Decision, &e.Call, &e.Tool, e.Digest)
	p.describe(&r, e.Decision)
	return p.log.Load().Append(r)
}

func (p *policing) describe(r *audit.Record, d core.Decision) {
	r.Decision, r.Rule, r.Approver = string(d.Verdict), p.redact.Load().Text(d.Rule), d.Approver
	r.Reason = p.redact.Load().Text(d.Reason)
}

// done records the outcome of a call.
func (p *policing) done(_ context.Context, e core.ToolOutcome) error {
	r := p.record(audit.Outcome, &e.Call, &e.Tool, "")
	r.Outcome, r.Entered, r.Duration = "ok", e.Entered, e.Duration
	if err := e.Result.Err; err != nil {
		r.Outcome, r.Reason = string(err.Code), p.redact.Load().Text(err.Message)
	}
	return p.log.Load().Append(r)
}

// record is what every line says about a call.
func (p *policing) record(kind audit.Kind, c *core.Call, t *core.Tool, digest string) audit.Record {
	r := audit.Record{
		Kind: kind, Session: c.Viewer.Session, Parent: c.Viewer.Parent, Turn: c.Turn, Agent: c.Viewer.Agent, User: c.Viewer.User,
		Caller: string(c.Via), Call: c.ID, Source: t.Source.Name, Digest: digest,
	}
	if r.Caller == "" {
		r.Caller = "plugin"
	}
	if t.Name == "" {
		r.Tool = p.unknownName(c.Name)
	} else {
		r.Tool, r.Definition = t.Name, p.definitions.hash(t)
	}
	if kind != audit.Outcome {
		r.Arguments = p.shownArguments(c.Args)
	}
	return r
}

// unknownName is what the log has of a name that may be no tool's.
func (p *policing) unknownName(name string) string {
	name, _ = cut(name, 128, 1)
	return p.redact.Load().Text(name)
}

// shownArguments is what the option lets the log have of arguments.
func (p *policing) shownArguments(args json.RawMessage) json.RawMessage {
	switch p.config.Load().Audit.Arguments {
	case "none":
		return nil
	case "full":
		text := p.redact.Load().Known(string(args))
		if !json.Valid([]byte(text)) { // a secret need not stand in a text
			return appendCanonical(nil, text)
		}
		return json.RawMessage(text)
	}
	return p.redact.Load().arguments(args)
}

// parseSize reads a size such as 16MiB, 500kB or 1048576.
func parseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "kKMGiB")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	units := map[string]int64{
		"": 1, "B": 1, "kB": 1000, "KB": 1000, "MB": 1000_000, "GB": 1000_000_000,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}
	unit, known := units[strings.TrimPrefix(text, number)]
	if err != nil || !known || n < 0 || n > 1<<40/unit {
		return 0, fmt.Errorf("want a size such as 16MiB, or 0, got %q", text)
	}
	return n * unit, nil
}
