package toolsearch

// skillName is the name of the skill that leads through the set-up.
func (s *settings) skillName() string {
	if s.preset == presetDSH {
		return "tool-slimmer-setup"
	}
	return "tool-search-setup"
}
