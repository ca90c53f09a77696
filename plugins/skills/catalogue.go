package skills

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// catalogue is what skills there are, sorted by name. It is immutable; nil is
// an empty one.
type catalogue struct {
	skills []core.Skill
}

// newCatalogue merges sources; of one name the first source's counts.
func newCatalogue(sources ...[]core.Skill) *catalogue {
	seen := map[string]bool{}
	c := &catalogue{}
	for _, source := range sources {
		for _, s := range source {
			if !seen[s.Name] {
				seen[s.Name] = true
				c.skills = append(c.skills, s)
			}
		}
	}
	slices.SortFunc(c.skills, func(a, b core.Skill) int { return strings.Compare(a.Name, b.Name) })
	return c
}

func (c *catalogue) all() []core.Skill {
	if c == nil {
		return nil
	}
	return c.skills
}

func (c *catalogue) equal(o *catalogue) bool { return slices.Equal(c.all(), o.all()) }

// get finds a skill by name; the error names those that there are.
func (c *catalogue) get(name string) (core.Skill, error) {
	var names []string
	for _, s := range c.all() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if near := schema.Nearest(name, names); near != "" {
		return core.Skill{}, fmt.Errorf("no skill %q; did you mean %q?", name, near)
	}
	return core.Skill{}, fmt.Errorf("no skill %q; there are: %s", name, strings.Join(names, ", "))
}

const maxListed = 8 << 10 // bytes of the listing in the tool's description

// describe lists names and descriptions, for the tool's description.
func (c *catalogue) describe() string {
	var b strings.Builder
	b.WriteString("Read a skill: instructions for a kind of task, written by people who know it. " +
		"Read the one that fits before you begin. Skills:\n")
	for i, s := range c.all() {
		line := fmt.Sprintf("- %s: %s\n", s.Name, s.Description)
		if b.Len()+len(line) > maxListed {
			fmt.Fprintf(&b, "and %d more; skill without a name lists all\n", len(c.skills)-i)
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// list is the answer of the tool without a name.
func (c *catalogue) list() string {
	if len(c.all()) == 0 {
		return "[there are no skills]"
	}
	var b strings.Builder
	for _, s := range c.all() {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Description)
	}
	return b.String()
}
