package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/redact"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

// Plugin is the plugin, for the list of plugins of a program.
var Plugin = core.Plugin[Config]{
	Name:        "toolpolicy",
	Title:       "Tool policy",
	Description: "Decides whether a tool call may run: auto, ask a person, or off. Keeps grants and the audit log.",
	Needs: core.Needs(core.Environment, core.PolicyRules.Optional(), core.Workspace.Optional(),
		core.Secrets.Optional()),
	Provides:    core.Provides(core.Deciders, core.Approvals, core.Permissions, Admins),
	Apply:       apply,
	Reconfigure: reconfigure,
	Validate:    Config.Validate,
	Harmless:    true,
}

// policing is one activation of the plugin.
type policing struct {
	c      *core.Context
	paths  core.Paths
	broker *broker
	grants *grants
	guard  *guard
	before *precedent

	definitions definitions

	policy atomic.Pointer[policy]
	config atomic.Pointer[Config]
	log    atomic.Pointer[auditLog]
	redact atomic.Pointer[redactor]

	joined bell // rings when somebody joined who is vouched for

	changing sync.Mutex // serialises changes of policy, config and log
	withdraw func()     // takes back the question about a held policy; guarded by changing
}

func apply(c *core.Context, cfg Config) error {
	paths, _ := core.Environment.Get(c)
	p := &policing{c: c, paths: paths, before: precedents.Of(c), withdraw: func() {}}
	p.guard = newGuard(p)
	var err error
	if p.grants, err = openGrants(filepath.Join(paths.State, "grants.json"), paths.Config); err != nil {
		return err
	}
	p.broker = p.newBroker()
	if err := p.configure(cfg.withDefaults()); err != nil {
		return err
	}
	err = errors.Join(
		c.OnDispose(p.end),
		p.listen(),
		p.setRules(p.rules()), // they may have changed before we listened
		askers(c, p),
		Admins.Provide(c, &Admin{p}),
		core.Approvals.Provide(c, p.broker),
		core.Permissions.Provide(c, p),
		core.Deciders.Provide(c, p),
	)
	p.before.stopper.Store(nil)
	return err
}

// end notes under which call the activation ends, and closes the log.
func (p *policing) end() error {
	if call, ok := p.suspect(); ok {
		p.before.stopper.Store(&call)
	}
	return p.log.Load().Close()
}

func (p *policing) newBroker() *broker {
	b := newBroker()
	b.timeout = func() time.Duration { return p.config.Load().Approval.Timeout }
	b.keep = p.keep
	b.settled = p.settled
	b.asNow = p.asNow
	b.vouch = p.vouch
	b.spawn = func(name string, f func(context.Context) error) error { return p.c.Go(name, f) }
	b.asked = func(ctx context.Context, a core.Approval) {
		if err := core.ApprovalAsked.Emit(ctx, a); err != nil {
			p.c.Logger().Warn("a listener to approval:asked failed", "err", err)
		}
	}
	return b
}

func (p *policing) listen() error {
	return errors.Join(
		core.PolicyChanged.On(p.c, func(_ context.Context, rules *core.PolicyConfig) error {
			return p.setRules(rules)
		}),
		core.ToolDecided.On(p.c, p.decided),
		core.ToolDone.On(p.c, p.done),
	)
}

// reconfigure takes new options in place: nothing restarts and no question is
// dropped.
func reconfigure(c *core.Context, _, cfg Config) (bool, error) {
	admin, ok := Admins.Get(c)
	if !ok {
		return false, nil
	}
	return true, admin.p.configure(cfg.withDefaults())
}

// configure makes cfg the options in force.
func (p *policing) configure(cfg Config) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	next, err := compilePolicy(p.rules(), &cfg)
	if err != nil {
		return err
	}
	return p.enact(next)
}

// rules returns the configured rules in force, none without a provider.
func (p *policing) rules() *core.PolicyConfig {
	if feed, ok := core.PolicyRules.Get(p.c); ok {
		return feed.Current()
	}
	return &core.PolicyConfig{}
}

// secrets are the values that the configuration took from elsewhere.
func (p *policing) secrets() []string {
	if keeper, ok := core.Secrets.Get(p.c); ok {
		return keeper.Secrets()
	}
	return nil
}

// setRules makes new rules the ones in force, from the next call on.
func (p *policing) setRules(rules *core.PolicyConfig) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	next, err := compilePolicy(rules, p.policy.Load().options)
	if err != nil {
		return err
	}
	return p.enact(next)
}

// enact publishes a policy and looks at what waits in its light. changing is
// held.
func (p *policing) enact(next *policy) error {
	p.redact.Store(&redactor{redact.New(p.secrets())})
	p.holdLoosening(next)
	p.noteRules(next)
	return p.publish(next)
}

// publish makes next the policy of whatever is decided from now on. changing
// is held.
func (p *policing) publish(next *policy) error {
	if old := p.policy.Load(); old != nil {
		next.epoch = old.epoch + 1
	}
	cfg := next.inForce()
	log, err := p.openLog(cfg)
	if err != nil {
		return err
	}
	replaced := p.log.Swap(log)
	p.config.Store(cfg)
	p.policy.Store(next)
	p.before.policy.Store(next)
	p.broker.resettle(p.refusedNow, p.broker.sessions()...)
	p.c.Tools().Refresh()
	if replaced != nil && replaced != log {
		return replaced.Close()
	}
	return nil
}

// PreviewEpoch changes with the policy; see core.PreviewEpoch.
func (p *policing) PreviewEpoch() uint64 { return p.policy.Load().epoch }

func (p *policing) noteRules(next *policy) {
	if err := p.grants.askedBy(next.askingRules()); err != nil {
		p.c.Logger().Error("grants cannot be kept up to date", "err", err)
	}
}

// askingRules are the ids of everything in the policy that asks.
func (p *policy) askingRules() []string {
	var ids []string
	for _, set := range p.sets() {
		for _, r := range set.rules {
			if r.value == core.Ask {
				ids = append(ids, r.id)
			}
		}
	}
	for _, o := range p.open {
		if o.value == core.Ask {
			ids = append(ids, o.rule)
		}
	}
	if p.fallback.value == core.Ask {
		ids = append(ids, p.fallback.rule)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// sets are the compiled sources, the file first.
func (p *policy) sets() []*ruleSet {
	sets := []*ruleSet{p.file}
	for _, g := range p.groups {
		sets = append(sets, g.set)
	}
	return append(sets, p.allow, p.deny)
}

// openLog returns the log for cfg: the present one if nothing about it
// changed.
func (p *policing) openLog(cfg *Config) (*auditLog, error) {
	rotate, err := parseSize(cfg.Audit.Rotate)
	if err != nil {
		return nil, fmt.Errorf("audit.rotate: %w", err)
	}
	file := cfg.Audit.File
	if file == "" {
		file = "audit.jsonl"
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.paths.State, file)
	}
	if now := p.log.Load(); now != nil && now.file == file && now.rotate == rotate {
		return now, nil
	}
	return &auditLog{Log: audit.Open(file, rotate), file: file, rotate: rotate}, nil
}
