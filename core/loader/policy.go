package loader

import (
	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// PolicyOf gives a document's policy the form that core hands out. root is the
// path of the fiber that entries are loaded on. Rules of a file that nobody
// trusted become those of a group that everybody is in: they only tighten.
func PolicyOf(doc *config.Document, root string) *core.PolicyConfig {
	p := &core.PolicyConfig{Rules: rulesOf(doc.Policy)}
	if len(doc.Tighten) > 0 {
		p.Groups = append(p.Groups, core.GroupPolicy{Rules: rulesOf(doc.Tighten)})
	}
	var visit func(entries []*config.Entry, path string, enabled bool)
	visit = func(entries []*config.Entry, path string, enabled bool) {
		for _, e := range entries {
			inner, enabled := path+"/"+e.Name(), enabled && !e.Disabled
			if e.Group == nil && enabled {
				p.Entries = append(p.Entries, inner)
			}
			if e.Group == nil {
				continue
			}
			if len(e.Group.Policy) > 0 {
				p.Groups = append(p.Groups, core.GroupPolicy{Path: inner, Rules: rulesOf(e.Group.Policy)})
			}
			visit(e.Group.Entries, inner, enabled)
		}
	}
	visit(doc.Entries, root, true)
	return p
}

func rulesOf(rules []config.PolicyRule) []core.PolicyRule {
	out := make([]core.PolicyRule, len(rules))
	for i, r := range rules {
		at := r.Source
		if at == "" {
			at = r.Pos.String()
		}
		out[i] = core.PolicyRule{Pattern: r.Pattern, Value: core.Policy(r.Value), Position: at}
	}
	return out
}
