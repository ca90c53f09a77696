package toolpolicy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// Admins is the service through which a program's commands look at the
// policy and at what is kept. It is for the owner of the host, never for a
// model.
var Admins = core.NewService[*Admin]("toolpolicy")

// Admin shows and changes what the running plugin keeps. Safe for concurrent
// use.
type Admin struct{ p *policing }

// Grants lists every grant: saved ones of all configurations, then those of
// sessions and turns.
func (a *Admin) Grants() ([]Grant, error) {
	list, err := a.p.grants.list()
	for i := range list {
		list[i].Shadowed = a.p.shadowed(&list[i])
	}
	return list, err
}

// shadowed reports whether the rules of now leave a grant without effect,
// whatever the arguments.
func (p *policing) shadowed(g *Grant) bool {
	if !g.Allow || g.Config != p.grants.config {
		return false
	}
	tool := p.c.Tools().Why(core.Viewer{}, g.Tool).Tool
	if tool.Name == "" {
		return false // it may come back
	}
	o := p.policy.Load().preview(&tool, "")
	return o.value == core.Off || o.value == core.AskOnce || o.value == core.Ask && p.grants.shadowed(g, o.rule)
}

// Revoke takes a grant away; the next call is decided without it. An unknown
// id is an error that matches [ErrNoGrant].
func (a *Admin) Revoke(id string) error { return a.p.grants.revoke(id) }

// GrantsFile is where grants are saved.
func (a *Admin) GrantsFile() string { return a.p.grants.path }

// AuditFile is the log in use, for audit.Verify and audit.Tail.
func (a *Admin) AuditFile() string { return a.p.log.Load().file }

// Held reports whether a milder policy waits for a person, and the one before
// holds beside it until then: a tool call may be why it was made milder.
func (a *Admin) Held() bool { return len(a.p.policy.Load().held) > 0 }

// RuleInfo is one rule in force.
type RuleInfo struct {
	Source   string      `json:"source"` // agent.yml, a group's path, --allow, --deny
	Pattern  string      `json:"pattern"`
	Value    core.Policy `json:"value"`
	Position string      `json:"position,omitempty"`
	// Idle: the rule is about none of the tools that there are now. It may be
	// misspelt, or about one that comes later. Rules about permissions never
	// are.
	Idle bool `json:"idle,omitempty"`
}

// Rules lists the rules in force, source by source, the most precise first.
func (a *Admin) Rules() []RuleInfo {
	tools := a.p.tools()
	var list []RuleInfo
	for _, set := range a.p.policy.Load().sets() {
		for _, r := range set.rules {
			list = append(list, RuleInfo{set.source, r.pattern.Text, r.value, r.pos, r.pattern.idle(tools)})
		}
	}
	return list
}

// tools are all tools of the registry, whoever may see them, as far as rules
// tell them apart.
func (p *policing) tools() []core.Tool {
	all := p.c.Tools().All()
	list := make([]core.Tool, len(all))
	for i, e := range all {
		list[i] = core.Tool{Name: e.Name, Source: e.Source, Groups: e.Groups, Traits: e.Traits}
	}
	return list
}

func (p *rulePattern) idle(tools []core.Tool) bool {
	return !strings.Contains(p.Name, ":") && !slices.ContainsFunc(tools, func(t core.Tool) bool {
		s := subjectOf(&t)
		return p.covers(&s)
	})
}

// Explain says what would be decided about a call of t by v and which rules
// are about it. Nil args: nothing is known about them.
func (a *Admin) Explain(v core.Viewer, t *core.Tool, args json.RawMessage) Explanation {
	p := a.p.policy.Load()
	q := &inquiry{tool: t, path: v.Path(), args: args}
	if t.Permission != nil && args != nil {
		if parts, err := t.Permission(args); err == nil {
			q.parts = computed(&core.DecideRequest{Tool: *t, Permissions: parts})
		}
	}
	e := p.explain(q)
	decoded, _ := decodeArguments(args) // what is no JSON names no file
	if what := a.p.guard.touches(q, decoded); what != "" && e.Policy != core.Off {
		e.Policy, e.Rule = core.AskOnce, "agentd's own files: "+what
	}
	q.asks = []opinion{{e.Policy, e.Rule}}
	e.Grant, e.Shadowed = a.p.grantsAbout(q, v.Asks())
	return e
}

// grantsAbout describes the grant that would settle a call, and those that
// would if a rule were not newer.
func (p *policing) grantsAbout(q *inquiry, session string) (by string, shadowed []string) {
	grant, refused := p.granted(q, session, "")
	switch {
	case refused != nil:
		by = "never " + refused.String() + " (" + refused.ID + ")"
	case grant != nil:
		by = "always " + grant.String() + " (" + grant.ID + ")"
	}
	list, err := p.grants.list()
	if err != nil {
		return by, nil
	}
	auto := func(part core.Permission) bool { return p.policy.Load().runs(q, part) }
	for _, g := range list {
		mine := g.Session == "" && g.Config == p.grants.config
		if mine && grant == nil && covered([]*Grant{&g}, q, auto) != nil {
			shadowed = append(shadowed, fmt.Sprintf("%s (%s, %s)", g.String(), g.ID, g.When.Format("2006-01-02")))
		}
	}
	return by, shadowed
}

// Explanation is the chain of a decision.
type Explanation struct {
	Tool   string      `json:"tool"`
	Effect core.Effect `json:"effect"`
	Policy core.Policy `json:"policy"`
	Rule   string      `json:"rule"`   // that decides
	Hidden bool        `json:"hidden"` // off whatever the arguments: not listed, unknown
	Steps  []Step      `json:"steps"`
	// Grant would settle an ask; Shadowed cover the call, but a rule is newer.
	Grant    string   `json:"grant,omitempty"`
	Shadowed []string `json:"shadowed,omitempty"`
}

// Step is one rule about the call.
type Step struct {
	Source   string      `json:"source"`
	Subject  string      `json:"subject,omitempty"` // a computed permission, else the tool
	Rule     string      `json:"rule"`
	Value    core.Policy `json:"value"`
	Position string      `json:"position,omitempty"`
	// Match is yes, no, or "depends on the arguments".
	Match string `json:"match"`
	// Wins: it is the opinion of its source.
	Wins bool `json:"wins"`
}

// explain walks through the same rules as judge.
func (p *policy) explain(q *inquiry) Explanation {
	s := subjectOf(q.tool)
	o := p.judge(q)
	if q.args == nil {
		o = p.preview(q.tool, q.path)
	}
	e := Explanation{Tool: q.tool.Name, Effect: s.Effect, Policy: o.value, Rule: o.rule,
		Hidden: p.preview(q.tool, q.path).value == core.Off}
	e.Steps = p.steps(&s, q, "", nil)
	for _, part := range q.parts {
		name := strings.TrimPrefix(part.Name, "tool:")
		target := []string{part.Target}
		if name == s.Name {
			e.Steps = append(e.Steps, p.steps(&s, q, part.Target, target)...)
			continue
		}
		e.Steps = append(e.Steps, p.steps(permissionSubject(part, s.Effect), q, name+" "+part.Target, target)...)
	}
	for _, h := range p.held {
		for _, step := range h.explain(q).Steps {
			step.Source += " (before a change that waits for a person)"
			e.Steps = append(e.Steps, step)
		}
	}
	return e
}

func (p *policy) steps(s *subject, q *inquiry, subject string, targets []string) []Step {
	open := p.openFor(s.Effect)
	if s.Permission {
		open = p.fallback
	}
	args := newArguments(q.args, targets...)
	opened := p.opened(open, p.allow.decide(s, args, open))
	var steps []Step
	for _, set := range p.sets() {
		if set != p.allow && set != p.deny && set != p.file && !p.inGroup(set, q.path) {
			continue
		}
		var otherwise opinion
		switch set {
		case p.file:
			otherwise = opened
		case p.allow:
			otherwise = open
		}
		steps = append(steps, set.steps(s, q.args, subject, targets, otherwise)...)
	}
	if o := p.readOnlyOpinion(s); o.value != "" {
		steps = append(steps, Step{Source: o.rule, Rule: o.rule, Value: o.value, Match: "yes", Wins: true})
	}
	spoken := p.file.decide(s, args, opened) != opened
	return append(steps, Step{Source: "toolpolicy", Subject: subject, Rule: open.rule, Value: open.value, Match: "yes", Wins: !spoken})
}

func (p *policy) inGroup(set *ruleSet, path string) bool {
	for i := range p.groups {
		if p.groups[i].set == set {
			return p.covers(&p.groups[i], path)
		}
	}
	return false
}

// steps lists the rules of one source about a subject, best first; otherwise
// is what holds without them.
func (set *ruleSet) steps(s *subject, args json.RawMessage, subject string, targets []string, otherwise opinion) []Step {
	known := set.resolve(s)
	matching := set.matching(s)
	steps := make([]Step, len(matching))
	o, won := otherwise, -1
	for n, i := range slices.Backward(matching) {
		r := &set.rules[i]
		step := &steps[n]
		*step = Step{Source: set.source, Subject: subject, Rule: r.id, Value: r.value, Position: r.pos, Match: "yes"}
		switch {
		case len(r.pattern.args) == 0:
		case args == nil && targets == nil:
			step.Match = "depends on the arguments"
		case !newArguments(args, targets...).match(r.pattern, known, milder(r.value, o.value)):
			step.Match = "no"
		}
		if step.Match == "yes" {
			o, won = opinion{r.value, r.id}, n
		}
	}
	if won >= 0 {
		steps[won].Wins = true
	}
	return steps
}

// String is the chain as text, one rule a line; * marks those that are the
// opinion of their source.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n  by %s\n", e.Tool, e.Effect, e.Policy, e.Rule)
	for _, s := range e.Steps {
		mark := " "
		if s.Wins {
			mark = "*"
		}
		fmt.Fprintf(&b, "  %s %s", mark, s.Rule)
		if s.Subject != "" {
			fmt.Fprintf(&b, " [%s]", VisibleLine(s.Subject))
		}
		if s.Match != "yes" {
			fmt.Fprintf(&b, " (%s)", strings.Replace(s.Match, "no", "does not match", 1))
		}
		if s.Position != "" {
			fmt.Fprintf(&b, " at %s", s.Position)
		}
		b.WriteByte('\n')
	}
	if e.Grant != "" {
		fmt.Fprintf(&b, "  settled by grant: %s\n", e.Grant)
	}
	for _, g := range e.Shadowed {
		fmt.Fprintf(&b, "  shadowed grant: %s\n", g)
	}
	return b.String()
}
