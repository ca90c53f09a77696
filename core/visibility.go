package core

import (
	"context"
	"slices"
)

// VisibilityRule reports whether v may see t, beyond what scopes and filters
// say. It must be quick and must not change t. It is asked whenever tools are
// listed or called.
type VisibilityRule func(v Viewer, t *Tool) bool

// toolRules is the ordered list of visibility rules.
var toolRules = &handle{name: "tool visibility"}

// Visibility adds a rule for all viewers until the context's scope ends. Rules
// only narrow: a tool is visible if none says no. A rule that panics says no.
// Call [Tools.Refresh] when its answers change, so that others look again.
func (t *Tools) Visibility(rule VisibilityRule) error {
	// First in, last out: when the rule is gone, others look again.
	if err := t.c.OnUndo("tool visibility", func(context.Context) error { t.Refresh(); return nil }); err != nil {
		return err
	}
	defer t.Refresh()
	return t.c.listen(toolRules, rule, false, nil)
}

// PreviewEpoch may be implemented by a [Decider]: a number that changes
// whenever an answer of Preview may. Lists are then kept in between; without
// it the Decider is asked about every tool each time.
type PreviewEpoch interface {
	PreviewEpoch() uint64
}

// place is where v looks from.
func (t *Tools) place(v Viewer) *Context {
	if v.at != nil && v.at.host == t.c.host {
		return v.at
	}
	return t.c
}

// view returns what v sees now. Scopes, filters and policy are kept with the
// snapshot; rules may change their mind at any time and are asked each time.
func (t *Tools) view(v Viewer) *toolView {
	view := t.settled(v)
	rules := t.c.host.snapshot(toolRules)
	if rules == nil || len(view.defs) == 0 {
		return view
	}
	return view.ruled(v, *rules)
}

// settled is the view before the rules.
func (t *Tools) settled(v Viewer) *toolView {
	snap := t.registry().current()
	place := t.place(v)
	prov, restricted := place.policing()
	epoch, keep := epochOf(prov)
	key := viewKey{v.Agent, v.Session, v.User, snap.groupsHash(v.Groups), place.filterPlace(), v.at}
	if prov == nil {
		key.session, key.user = "", ""
	}
	if keep {
		view, ok := snap.views.get(key)
		if ok && view.prov == prov && view.epoch == epoch && view.restricted == restricted && slices.Equal(view.groups, v.Groups) {
			return view
		}
	}
	base := snap.base(v, key)
	view := &toolView{groups: base.groups, prov: prov, epoch: epoch, restricted: restricted, defs: base.defs}
	if prov != nil {
		view.narrow(v, prov)
	}
	if restricted != nil {
		view.defs = slices.DeleteFunc(slices.Clone(view.defs), func(d *definition) bool {
			p, _ := restricted.on(v, &d.tool, nil)
			return p == Off
		})
	}
	if keep {
		snap.views.put(key, view)
	}
	return view
}

// epochOf tells whether what the Decider previews may be kept, and until when.
func epochOf(prov *provision) (epoch uint64, keep bool) {
	if prov == nil {
		return 0, true
	}
	e, ok := (*prov.value.(*Decider)).(PreviewEpoch)
	if !ok {
		return 0, false
	}
	return e.PreviewEpoch(), true
}

// base returns the part of a view that rules and policy do not touch.
func (s *toolSnapshot) base(v Viewer, key viewKey) *baseView {
	key.session, key.user, key.at = "", "", nil
	if b, ok := s.bases.get(key); ok && slices.Equal(b.groups, v.Groups) {
		return b
	}
	b := &baseView{groups: slices.Clone(v.Groups), defs: make([]*definition, 0, len(s.names))}
	filters := key.place.filtersFrom()
	for _, n := range s.names {
		if d := pick(n.defs, v); d != nil && s.lacks(d, filters) == "" {
			b.defs = append(b.defs, d)
		}
	}
	s.bases.put(key, b)
	return b
}

// narrow applies policy.
func (view *toolView) narrow(v Viewer, prov *provision) {
	all := previews(prov, v, view.defs)
	defs := make([]*definition, 0, len(all))
	view.policy = all[:0]
	for i, d := range view.defs {
		if all[i].policy != Off {
			defs = append(defs, d)
			view.policy = append(view.policy, all[i])
		}
	}
	view.defs = defs
}

// ruled applies rules. Mostly they hide what they hid the last time.
func (view *toolView) ruled(v Viewer, rules []*listener) *toolView {
	hidden := make([]bool, len(view.defs))
	for _, l := range rules {
		l.hide(v, view.defs, hidden)
	}
	if !slices.Contains(hidden, true) {
		return view
	}
	if last := view.last.Load(); last != nil && slices.Equal(last.hidden, hidden) {
		return last
	}
	r := &toolView{hidden: hidden}
	for i, d := range view.defs {
		if hidden[i] {
			continue
		}
		r.defs = append(r.defs, d)
		if view.policy != nil {
			r.policy = append(r.policy, view.policy[i])
		}
	}
	view.last.Store(r)
	return r
}

// hide marks what the rule hides. It enters the rule once for all tools.
func (l *listener) hide(v Viewer, defs []*definition, hidden []bool) {
	if !l.enter() {
		return
	}
	defer l.gate.exit()
	rule := l.fn.(VisibilityRule)
	resume(len(defs), func(i int) {
		hidden[i] = hidden[i] || !rule(v, &defs[i].tool)
	}, func(i int) { hidden[i] = true })
}

// previews asks the Decider about all of defs. What it panics at it hides not:
// the decision about the call is made elsewhere, and fails closed.
func previews(prov *provision, v Viewer, defs []*definition) []previewed {
	all := make([]previewed, len(defs))
	if !prov.gate.enter() {
		return all
	}
	defer prov.gate.exit()
	decider := *prov.value.(*Decider)
	resume(len(defs), func(i int) {
		all[i].policy, all[i].rule = decider.Preview(v, &defs[i].tool)
	}, func(int) {})
	return all
}

// resume calls f for 0 to n-1, and after a panic in one of them failed for it
// before it goes on with the next.
func resume(n int, f, failed func(int)) {
	for i := 0; i < n; {
		i = untilPanic(i, n, f, failed)
	}
}

func untilPanic(i, n int, f, failed func(int)) (next int) {
	defer func() {
		if recover() != nil {
			failed(i)
			next = i + 1
		}
	}()
	for ; i < n; i++ {
		f(i)
	}
	return n
}

// pick chooses the definition of a name that is v's: the agent's own before
// the group's before the global one. Which one it is does not depend on
// whether it is visible in the end.
func pick(defs []*definition, v Viewer) *definition {
	var best *definition
	rank := -1
	for _, d := range defs {
		for _, k := range d.keys {
			if r := k.rank(v); r > rank {
				best, rank = d, r
			}
		}
	}
	return best
}

// rank says how closely a key fits a viewer, -1 if it does not. Of several
// groups the viewer's first counts most.
func (k toolKey) rank(v Viewer) int {
	rank := 0
	if k.agent != "" {
		if k.agent != v.Agent {
			return -1
		}
		rank = 2 * (len(v.Groups) + 1)
	}
	if k.group == "" {
		return rank
	}
	i := slices.Index(v.Groups, k.group)
	if i < 0 {
		return -1
	}
	return rank + len(v.Groups) - i
}

// lacks names what hides d for good in this snapshot, "" if nothing does.
func (s *toolSnapshot) lacks(d *definition, filters []*Filter) string {
	for _, f := range filters {
		if !f.Allows(d.tool.Name) {
			return "filter"
		}
	}
	if s.sourceState(&d.tool) == SourceDisabled {
		return "source"
	}
	return ""
}

// lookup finds the tool that v sees under a name. Without one, hidden is the
// definition that is there but not for v, if any.
func (t *Tools) lookup(v Viewer, name string) (def, hidden *definition) {
	d, layer, _ := t.examine(v, name)
	if layer != "" {
		return nil, d
	}
	return d, nil
}

// examine goes through the layers that can hide a tool.
func (t *Tools) examine(v Viewer, name string) (d *definition, layer, detail string) {
	r := t.registry()
	snap := r.current()
	defs := snap.find(name)
	if len(defs) == 0 {
		return nil, "unknown", "nothing of that name is defined"
	}
	if d = pick(defs, v); d == nil {
		return defs[0], "scope", "it belongs to another agent or group"
	}
	place := t.place(v)
	if layer := snap.lacks(d, place.filtersFrom()); layer != "" {
		return d, layer, layer + " hides it"
	}
	if rules := t.c.host.snapshot(toolRules); rules != nil {
		if by := refusing(*rules, v, d); by != nil {
			return d, "visibility", "a rule of " + by.act.fiber.Path() + " hides it"
		}
	}
	if p := place.preview(v, d); p.policy == Off {
		return d, "policy", p.rule
	}
	return d, "", ""
}

func refusing(rules []*listener, v Viewer, d *definition) *listener {
	hidden := []bool{false}
	for _, l := range rules {
		if l.hide(v, []*definition{d}, hidden); hidden[0] {
			return l
		}
	}
	return nil
}

// ToolStanding says why a viewer does or does not see a tool. It is for the
// owner of the host, never for a model.
type ToolStanding struct {
	Visible bool   `json:"visible"`
	Layer   string `json:"layer,omitempty"`  // unknown, scope, filter, source, visibility, policy
	Detail  string `json:"detail,omitempty"` // whose filter, which rule
	Entry   Entry  `json:"entry"`            // zero if unknown
	Tool    Tool   `json:"-"`                // zero if unknown; without its function
}

// Why explains what v sees of a tool.
func (t *Tools) Why(v Viewer, name string) ToolStanding {
	d, layer, detail := t.examine(v, name)
	s := ToolStanding{Visible: layer == "", Layer: layer, Detail: detail}
	if d != nil {
		s.Entry, s.Tool = t.registry().current().entry(d), d.tool
	}
	if d != nil {
		p := t.place(v).preview(v, d)
		s.Entry.Policy, s.Entry.Rule = p.policy, p.rule
	}
	return s
}

// policing is who decides at c, or without a Decider what is restricted.
func (c *Context) policing() (prov *provision, restricted *restrictions) {
	if prov = c.active(Deciders.h); prov != nil {
		return prov, nil
	}
	return nil, c.host.restrictions()
}

// preview is what policy says about one tool, seen from c.
func (c *Context) preview(v Viewer, d *definition) (p previewed) {
	prov, restricted := c.policing()
	if prov != nil {
		return previews(prov, v, []*definition{d})[0]
	}
	p.policy, p.rule = restricted.on(v, &d.tool, nil)
	return p
}

// active is the provision of a service that c's realm has while its provider
// is active, whether or not c's plugin declared a need.
func (c *Context) active(k *handle) *provision {
	r := c.knownRealmOf(k)
	if r == nil {
		return nil
	}
	p := r.provision.Load()
	if p == nil || p.gone.Load() || p.act.phase.Load() != phaseActive {
		return nil
	}
	return p
}
