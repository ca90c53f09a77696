package toolpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
)

// policy is everything that rules say: the file's, those of groups of
// agents, those of the command line, and what holds where none speaks. It is
// immutable; a change makes another one.
type policy struct {
	file     *ruleSet
	open     map[core.Effect]opinion // where the file says nothing
	fallback opinion                 // for permissions, and effects that open lacks
	groups   []groupRules
	allow    *ruleSet // --allow
	deny     *ruleSet // --deny
	readOnly bool
	options  *Config  // as the configuration has them
	entries  []string // paths of all that may stand for agents
	epoch    uint64   // of the policies of one activation

	// held are policies that a change would have loosened; they count until
	// a person lets go of them.
	held    []*policy
	heldFor core.Call // the call that may have loosened it
	// strangers, of a policy that is held: the entries that it did not know.
	strangers []string
}

// groupRules are the rules of the agents at or below path; "" is everybody.
type groupRules struct {
	path string
	set  *ruleSet
}

// compilePolicy compiles what the configuration says. All malformed rules
// are reported.
func compilePolicy(rules *core.PolicyConfig, cfg *Config) (*policy, error) {
	p := &policy{readOnly: rules.ReadOnly, options: cfg, entries: rules.Entries, open: map[core.Effect]opinion{}}
	var errs []error
	compile := func(source string, lines []core.PolicyRule) *ruleSet {
		set, err := compileRules(source, lines)
		errs = append(errs, err)
		return set
	}
	p.file = compile("agent.yml", rules.Rules)
	for _, g := range rules.Groups {
		source := g.Path
		if source == "" {
			source = "agent.yml, not trusted"
		}
		p.groups = append(p.groups, groupRules{g.Path, compile(source, g.Rules)})
	}
	allow, deny := splitOverrides(rules.Overrides)
	p.allow, p.deny = compile("--allow", allow), compile("--deny", deny)
	p.setDefaults(cfg)
	return p, errors.Join(errs...)
}

func (p *policy) setDefaults(cfg *Config) {
	for _, effect := range []core.Effect{core.Read, core.Write, core.Exec} {
		value, id := cfg.ByEffect[effect], fmt.Sprintf("toolpolicy.byEffect: %s = ", effect)
		if value == "" {
			value, id = cfg.Default, "toolpolicy.default: "
		}
		p.open[effect] = opinion{value, id + string(value)}
	}
	p.fallback = opinion{cfg.Default, "toolpolicy.default: " + string(cfg.Default)}
}

// splitOverrides parts what may loosen from what tightens: a pattern given to
// --allow, however precise, does not beat one given to --deny.
func splitOverrides(lines []core.PolicyRule) (allow, deny []core.PolicyRule) {
	for _, line := range lines {
		if line.Value == core.Auto {
			allow = append(allow, line)
			continue
		}
		deny = append(deny, line)
	}
	return allow, deny
}

// stricter returns the stricter opinion, the first of equals.
func stricter(a, b opinion) opinion {
	if strictness(b.value) > strictness(a.value) {
		return b
	}
	return a
}

// decide returns what the rules say about a subject for an agent at path.
// Where the file says nothing, open holds, unless the command line allows.
func (p *policy) decide(s *subject, path string, args *arguments, open opinion) opinion {
	o := p.file.decide(s, args, p.opened(open, p.allow.decide(s, args, open)))
	for i := range p.groups {
		if g := &p.groups[i]; p.covers(g, path) {
			o = stricter(o, g.set.decide(s, args, opinion{}))
		}
	}
	o = stricter(o, p.deny.decide(s, args, opinion{}))
	return stricter(o, p.readOnlyOpinion(s))
}

// opened is what holds where the file says nothing: --allow may turn an ask
// into auto, and nothing else.
func (p *policy) opened(open, allowed opinion) opinion {
	if open.value == core.Ask && allowed.value == core.Auto {
		return allowed
	}
	return open
}

func (p *policy) readOnlyOpinion(s *subject) opinion {
	if p.readOnly && !s.Permission && s.Effect != core.Read {
		return opinion{core.Off, "--read-only"}
	}
	return opinion{}
}

// covers reports whether an agent at path belongs to the group. Everybody
// belongs to the group without a path, and strangers to every group.
func (p *policy) covers(g *groupRules, path string) bool {
	return below(g.path, path) || slices.ContainsFunc(p.strangers, func(s string) bool { return below(s, path) })
}

// below reports whether a fiber's path is dir or below it; all are below "".
func below(dir, path string) bool {
	return dir == "" || strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// inForce are the options that count: while a change waits for a person,
// people are asked and calls recorded as before.
func (p *policy) inForce() *Config {
	cfg := *p.options
	if len(p.held) > 0 {
		before := p.held[0].options
		cfg.Approval, cfg.Audit = before.Approval, before.Audit
	}
	return &cfg
}

// openFor is what holds for a tool where no rule speaks.
func (p *policy) openFor(effect core.Effect) opinion { return p.open[effect.Or()] }
