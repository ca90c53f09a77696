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

// view returns what v sees now.
func (t *Tools) view(v Viewer) *toolView {
	snap := t.registry().current()
	rules := t.c.host.snapshot(toolRules)
	place := t.place(v)
	prov := place.active(Deciders.h)
	epoch, keep := epochOf(prov)
	keep = keep && rules == nil
	key := viewKey{v.Agent, v.Session, v.User, snap.groupsHash(v.Groups), place.filterPlace()}
	if prov == nil {
		key.session, key.user = "", ""
	}
	if keep {
		view, ok := snap.views.get(key)
		if ok && view.prov == prov && view.epoch == epoch && slices.Equal(view.groups, v.Groups) {
			return view
		}
	}
	base := snap.base(v, key)
	view := &toolView{groups: base.groups, prov: prov, epoch: epoch}
	view.narrow(base, v, rules, prov)
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
	key.session, key.user = "", ""
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

// narrow applies rules and policy.
func (view *toolView) narrow(base *baseView, v Viewer, rules *[]*listener, prov *provision) {
	if rules == nil && prov == nil {
		view.defs = base.defs
		return
	}
	view.defs = make([]*definition, 0, len(base.defs))
	for _, d := range base.defs {
		if rules != nil && !rulesAllow(*rules, v, &d.tool) {
			continue
		}
		if prov != nil {
			p := preview(prov, v, &d.tool)
			if p.policy == Off {
				continue
			}
			view.policy = append(view.policy, p)
		}
		view.defs = append(view.defs, d)
	}
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

func rulesAllow(rules []*listener, v Viewer, t *Tool) bool {
	for _, l := range rules {
		if !l.enter() {
			continue
		}
		if ok, err := askRule(l, v, t); !ok || err != nil {
			return false
		}
	}
	return true
}

func askRule(l *listener, v Viewer, t *Tool) (ok bool, err error) {
	defer l.exit(&err)
	return l.fn.(VisibilityRule)(v, t), nil
}

// preview asks the Decider. One that panics hides nothing: the decision about
// the call is made elsewhere, and fails closed.
func preview(prov *provision, v Viewer, t *Tool) (p previewed) {
	_ = prov.act.fiber.guard("preview of", &prov.node, func() error {
		p.policy, p.rule = (*prov.value.(*Decider)).Preview(v, t)
		return nil
	})
	return p
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
		if by := refusing(*rules, v, &d.tool); by != nil {
			return d, "visibility", "a rule of " + by.act.fiber.Path() + " hides it"
		}
	}
	if prov := place.active(Deciders.h); prov != nil {
		if p := preview(prov, v, &d.tool); p.policy == Off {
			return d, "policy", p.rule
		}
	}
	return d, "", ""
}

func refusing(rules []*listener, v Viewer, t *Tool) *listener {
	for _, l := range rules {
		if !rulesAllow([]*listener{l}, v, t) {
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
	if prov := t.place(v).active(Deciders.h); prov != nil && d != nil {
		p := preview(prov, v, &d.tool)
		s.Entry.Policy, s.Entry.Rule = p.policy, p.rule
	}
	return s
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
