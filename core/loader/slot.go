package loader

import (
	"encoding/json"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// slot is an entry that has a fiber. It is written with the loader's turn and
// lock, and read with either.
type slot struct {
	id     string
	name   string
	plugin string
	home   string // id of the group whose fiber holds this one; "" = none
	fiber  *core.Fiber
	group  *group // if it is one

	// What was applied, which changes only when it is in force: a failed
	// attempt leaves it, so that the next reload tries again.
	digest  string // "" = never
	options json.RawMessage

	err  error     // what went wrong last, nil if nothing did
	good time.Time // when options came into force
}

// want is an entry as the document has it.
type want struct {
	*config.Entry
	parent string // id of its group; "" = none
	live   bool   // neither it nor a group around it is disabled
	narrow string // what the groups around it filter and forbid, as text
}

// wants lists the entries of a document, groups before what is in them.
func wants(doc *config.Document) []*want {
	var all []*want
	var visit func(entries []*config.Entry, around want)
	visit = func(entries []*config.Entry, around want) {
		for _, e := range entries {
			w := &want{Entry: e, parent: around.parent, live: around.live && !e.Disabled, narrow: around.narrow}
			all = append(all, w)
			if e.Group != nil {
				visit(e.Group.Entries, want{parent: e.ID, live: w.live, narrow: around.narrow + narrowing(e.Group)})
			}
		}
	}
	visit(doc.Entries, want{live: true})
	return all
}

// narrowing is the text of what a group does to its entries; "" if nothing.
func narrowing(g *config.Group) string {
	type rule struct{ Pattern, Value string }
	var rules []rule
	for _, r := range g.Policy {
		rules = append(rules, rule{r.Pattern, r.Value})
	}
	if len(rules) == 0 && len(g.Filter.Include) == 0 && len(g.Filter.Exclude) == 0 {
		return ""
	}
	raw, err := json.Marshal(struct {
		Filter config.Filter
		Policy []rule
	}{g.Filter, rules})
	if err != nil {
		return err.Error()
	}
	return string(raw) + "\n"
}
