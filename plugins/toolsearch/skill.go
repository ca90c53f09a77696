package toolsearch

import (
	_ "embed"
	"strings"

	"github.com/agentd-host/agentd/core"
)

//go:embed skill.md
var skillText string

// skillConfig says which skill there is; the zero value is none.
type skillConfig struct {
	Name      string `json:"name,omitempty"`
	Catalogue string `json:"catalogue,omitempty"`
	Configure string `json:"configure,omitempty"`
}

// setupSkill is a plugin of its own, so that it can wait for the service of
// skills while the search works without.
var setupSkill = core.Plugin[skillConfig]{
	Name:        "setup-skill",
	Description: "The skill that leads through the set-up of tool search.",
	Needs:       core.Needs(core.Skills),
	Apply: func(c *core.Context, cfg skillConfig) error {
		set, ok := core.Skills.Get(c)
		if !ok || cfg.Name == "" {
			return nil
		}
		names := strings.NewReplacer("{catalogue}", cfg.Catalogue, "{configure}", cfg.Configure)
		return set.Add(c, core.Skill{
			Name:        cfg.Name,
			Description: "Set up tool search: groups of tools, a rerank matcher, preloading.",
			Text:        names.Replace(skillText),
		})
	},
}

// skillOf is the skill that fits the settings.
func skillOf(s *settings) skillConfig {
	if s.configTools == configToolsNone {
		return skillConfig{}
	}
	catalogue, configure := s.configNames()
	return skillConfig{s.skillName(), catalogue, configure}
}

// skillName is the name of the skill that leads through the set-up.
func (s *settings) skillName() string {
	if s.preset == presetDSH {
		return "tool-slimmer-setup"
	}
	return "tool-search-setup"
}

// configNames are the names of the two configuration tools.
func (s *settings) configNames() (catalogue, configure string) {
	if s.preset == presetDSH {
		return catalogNameDSH, configureNameDSH
	}
	return catalogName, configureName
}
