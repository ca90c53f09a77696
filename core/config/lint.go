package config

import (
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/core/schema"
)

// Lint returns what the plugins' config types say in vain, each with the
// plugin's name: misspelt keywords of tags, text cut at a comma, defaults that
// do not parse or do not fit, durations as integers, names in Folders and
// Renamed that are no options. A test over all plugins of a program should
// find nothing.
func Lint(plugins ...Plugin) []error {
	var errs []error
	report := func(p Plugin, err error) { errs = append(errs, fmt.Errorf("plugin %s: %w", p.Name, err)) }
	for _, p := range plugins {
		for _, err := range schema.Lint(p.configType()) {
			report(p, err)
		}
		s, err := NewSchema(p)
		if err != nil {
			report(p, err)
			continue
		}
		c := s.plugins[p.Name]
		for _, name := range p.Folders {
			if !c.node.has(name) {
				report(p, fmt.Errorf("option %q of Folders does not exist", name))
			}
		}
		for old, now := range p.Renamed {
			if c.node.has(old) {
				report(p, fmt.Errorf("%q was renamed and is an option", old))
			}
			if !c.node.has(now) {
				report(p, fmt.Errorf("%q was renamed to %q, which is no option", old, now))
			}
		}
		for _, err := range c.lintDefaults() {
			report(p, err)
		}
	}
	return errs
}

// lintDefaults checks the defaults against the plugin's own schema.
func (p *plugin) lintDefaults() []error {
	raw, err := json.Marshal(p.defaults)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, i := range p.check.Validate(raw) {
		if i.Keyword != "required" {
			errs = append(errs, fmt.Errorf("the default of %s does not fit: want %s, got %s", i.Path, i.Want, i.Got))
		}
	}
	return errs
}
