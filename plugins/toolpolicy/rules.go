package toolpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/pattern"
)

// rule is a compiled line of a policy.
type rule struct {
	pattern *rulePattern
	value   core.Policy
	id      string // as a person finds it: `file: run_command(git *) = auto`
	pos     string // file:line:column, or ""
}

// ruleSet is one source of rules, compiled. Within it the most precise rule
// that matches decides, among equals the strictest. It is immutable but for
// its cache; safe for concurrent use.
type ruleSet struct {
	source string
	rules  []rule // most precise first, among equals the strictest
	exact  map[string][]int
	vague  []int // indices of rules whose subject is no plain name
	seen   cache
}

// compileRules compiles one source. All malformed rules are reported.
func compileRules(source string, lines []core.PolicyRule) (*ruleSet, error) {
	set := &ruleSet{source: source, exact: map[string][]int{}}
	var errs []error
	for _, line := range lines {
		r, err := compileRule(source, line)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set.rules = append(set.rules, r)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(set.rules, func(a, b rule) int {
		if c := cmp.Compare(b.pattern.rank, a.pattern.rank); c != 0 {
			return c
		}
		return cmp.Compare(strictness(b.value), strictness(a.value))
	})
	for i, r := range set.rules {
		if r.pattern.Kind == pattern.Name {
			set.exact[r.pattern.Name] = append(set.exact[r.pattern.Name], i)
			continue
		}
		set.vague = append(set.vague, i)
	}
	return set, nil
}

func compileRule(source string, line core.PolicyRule) (rule, error) {
	p, err := parsePattern(line.Pattern)
	if err == nil {
		_, err = core.ParsePolicy(string(line.Value))
	}
	if err != nil && line.Position != "" {
		err = fmt.Errorf("%s: tools.policy: %w", line.Position, err)
	}
	if err != nil {
		return rule{}, err
	}
	id := fmt.Sprintf("%s: %s = %s", source, line.Pattern, line.Value)
	return rule{pattern: p, value: line.Value, id: id, pos: line.Position}, nil
}

// strictness orders policies; none is 0.
func strictness(p core.Policy) int {
	switch p {
	case core.Auto:
		return 1
	case core.Ask:
		return 2
	case core.AskOnce:
		return 3
	case core.Off:
		return 4
	}
	return 0
}

// opinion is what a source says about a call; the zero value is nothing.
type opinion struct {
	value core.Policy
	rule  string
}

// milder reports whether p lets more run than q. Nothing said is the mildest.
func milder(p, q core.Policy) bool { return strictness(p) < strictness(q) }

// decide returns the source's opinion about a call, otherwise where it has
// none. A rule with arguments that is milder than what holds without it has
// to be sure that it matches. decide allocates nothing for a subject that it
// has seen and that no rule with arguments speaks about.
func (set *ruleSet) decide(s *subject, args *arguments, otherwise opinion) opinion {
	if len(set.rules) == 0 {
		return otherwise
	}
	known := set.resolve(s)
	o := known.or(otherwise)
	for _, i := range slices.Backward(known.withArgs) {
		r := &set.rules[i]
		if args.match(r.pattern, known, milder(r.value, o.value)) {
			o = opinion{r.value, r.id}
		}
	}
	return o
}

// outlook returns the opinion for arguments that nobody knows yet: the plain
// one, or where that is off, the mildest that some arguments bring about.
func (set *ruleSet) outlook(s *subject, otherwise opinion) opinion {
	known := set.resolve(s)
	o := known.or(otherwise)
	if o.value != core.Off {
		return o
	}
	for _, i := range known.withArgs {
		if r := &set.rules[i]; milder(r.value, o.value) {
			o = opinion{r.value, r.id}
		}
	}
	return o
}

// resolved is what the rules come down to for one subject: rules with
// arguments that have to be tried in order, and what holds if none matches.
type resolved struct {
	subject  subject
	primary  string // the argument that patterns without a key mean
	withArgs []int
	plain    opinion
}

// or is what holds if no rule with arguments matches.
func (r *resolved) or(otherwise opinion) opinion {
	if r.plain.value == "" {
		return otherwise
	}
	return r.plain
}

func (set *ruleSet) resolve(s *subject) *resolved {
	key := cacheKey{s.Name, s.Effect, s.Permission}
	if known := set.seen.get(key); known != nil && known.subject.same(s) {
		return known
	}
	known := set.work(s)
	set.seen.put(key, known)
	return known
}

// work goes through the rules for a subject not seen before.
func (set *ruleSet) work(s *subject) *resolved {
	known := &resolved{subject: *s}
	known.subject.Groups = slices.Clone(s.Groups)
	for _, i := range set.matching(s) {
		r := &set.rules[i]
		if len(r.pattern.args) > 0 {
			known.withArgs = append(known.withArgs, i)
			continue
		}
		known.plain = opinion{r.value, r.id}
		break
	}
	if len(known.withArgs) > 0 {
		known.primary = primaryArgument(s.Parameters)
	}
	return known
}

// matching returns the rules about a subject, arguments aside, best first.
func (set *ruleSet) matching(s *subject) []int {
	found := slices.Clone(set.exact[s.Name])
	for _, i := range set.vague {
		if set.rules[i].pattern.covers(s) {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return found
}
