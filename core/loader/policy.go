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
	var visit func(entries []*config.Entry, path string)
	visit = func(entries []*config.Entry, path string) {
		for _, e := range entries {
			if e.Group == nil {
				continue
			}
			inner := path + "/" + e.Name()
			if len(e.Group.Policy) > 0 {
				p.Groups = append(p.Groups, core.GroupPolicy{Path: inner, Rules: rulesOf(e.Group.Policy)})
			}
			visit(e.Group.Entries, inner)
		}
	}
	visit(doc.Entries, root)
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
