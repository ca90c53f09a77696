package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/agentd-host/agentd/core/schema"
)

// Schema knows what agent.yml may hold, given the plugins that are compiled
// in. It is immutable and may be used concurrently.
type Schema struct {
	plugins  map[string]*plugin
	names    map[string]identity // every name and alias
	document json.RawMessage
}

// plugin is a Plugin with what its options were compiled to.
type plugin struct {
	Plugin
	check    *schema.Schema
	node     *node
	defaults map[string]any
}

// identity is what a key of a plugins mapping means.
type identity struct {
	plugin  string // the plugin's own name
	id      string
	implied map[string]any
}

// NewSchema compiles the plugins' config types. It fails for two plugins of
// one name and for types that no schema can describe.
func NewSchema(plugins ...Plugin) (*Schema, error) {
	s := &Schema{plugins: map[string]*plugin{}, names: map[string]identity{}}
	var errs []error
	for _, p := range append([]Plugin{groupPlugin}, plugins...) {
		if err := s.add(p); err != nil {
			errs = append(errs, fmt.Errorf("plugin %s: %w", p.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	doc, err := s.compose()
	if err != nil {
		return nil, err
	}
	s.document = doc
	return s, nil
}

// GroupOptions are what a group:id entry holds beside its plugins.
type GroupOptions struct {
	Filter  Filter         `json:"filter,omitzero" jsonschema_description:"Narrows which tools the plugins in this group see."`
	Policy  map[string]any `json:"policy,omitempty" jsonschema_description:"Tool policy for the agents in this group. It only tightens."`
	Plugins map[string]any `json:"plugins,omitempty" jsonschema_description:"The plugins of this group."`
}

// Filter narrows which tools are seen: those that match Include (all, if it is
// empty) and not Exclude. Both are globs of names.
type Filter struct {
	Include []string `json:"include,omitempty" jsonschema_description:"Globs of the tools to keep."`
	Exclude []string `json:"exclude,omitempty" jsonschema_description:"Globs of the tools to leave out."`
}

var groupPlugin = Plugin{Name: GroupName, Title: "Plugins that share a filter and a policy",
	Config: reflect.TypeFor[GroupOptions](), Harmless: true}

func (s *Schema) add(p Plugin) error {
	if !validName(p.Name) {
		return errors.New("its name is not fit for agent.yml")
	}
	c := &plugin{Plugin: p}
	t := p.configType()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("its config type %s is no struct", t)
	}
	var err error
	if c.check, err = schema.Of(t); err != nil {
		return err
	}
	defaults, err := schema.Defaults(t)
	if err != nil {
		return err
	}
	if err := errors.Join(json.Unmarshal(c.check.Raw(), &c.node), json.Unmarshal(defaults, &c.defaults)); err != nil {
		return err
	}
	own := identity{plugin: p.Name, id: p.Name}
	for _, a := range append([]Alias{{Name: p.Name}}, p.Aliases...) {
		if first, taken := s.names[a.Name]; taken {
			return fmt.Errorf("the name %s is taken by plugin %s", a.Name, first.plugin)
		}
		own.implied = a.Options
		s.names[a.Name] = own
	}
	s.plugins[p.Name] = c
	return nil
}

// identify says what a key means. An unknown plugin keeps its name; validation
// reports it.
func (s *Schema) identify(k entryKey) identity {
	e, ok := s.names[k.name]
	if !ok {
		e = identity{plugin: k.name, id: k.name}
	}
	if k.id != "" {
		e.id = k.id
	}
	return e
}

// pluginNames lists what may stand in a plugins mapping.
func (s *Schema) pluginNames() []string { return slices.Sorted(maps.Keys(s.names)) }

// JSON returns the JSON Schema (draft-07) of the whole file, for editors. The
// caller must not change it.
func (s *Schema) JSON() json.RawMessage { return s.document }

type object = map[string]any

func (s *Schema) compose() (json.RawMessage, error) {
	defs := object{
		"policyValue": object{
			"enum":        []any{"auto", "ask", "ask!", "off", false},
			"description": "auto runs, ask asks a person, ask! asks and can't be settled for longer, off hides and refuses.",
		},
		"policy": object{
			"type":                 []string{"object", "null"},
			"description":          "Tool name, glob, effect:read|write|exec, server:NAME or group:LABEL, and what it may do.",
			"additionalProperties": ref("policyValue"),
		},
		"plugins": s.composePlugins(),
	}
	for name, p := range s.plugins {
		def, err := p.definition()
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", name, err)
		}
		defs["plugin."+name] = def
	}
	return json.MarshalIndent(object{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"title":                "agentd configuration (agent.yml)",
		"type":                 "object",
		"additionalProperties": false,
		"properties": object{
			"version": object{"const": Version, "description": "Format of this file."},
			"tools": object{
				"type":                 []string{"object", "null"},
				"additionalProperties": false,
				"properties":           object{"policy": ref("policy")},
			},
			"plugins": ref("plugins"),
		},
		"$defs": defs,
	}, "", "  ")
}

// composePlugins is the schema of a plugins mapping, or list.
func (s *Schema) composePlugins() object {
	const id = "[A-Za-z0-9_.-]{1,64}"
	properties, patterns := object{}, object{}
	for name, e := range s.names {
		target := ref("plugin." + e.plugin)
		if name == GroupName {
			patterns["^~?group:"+id+"$"] = target
			continue
		}
		properties[name] = target
		patterns["^~?"+regexp.QuoteMeta(name)+"(:"+id+")?$"] = target
	}
	return object{
		"type":                 []string{"object", "array", "null"},
		"description":          "name or name:id; a leading ~ disables; group:id nests.",
		"properties":           properties,
		"patternProperties":    patterns,
		"additionalProperties": false,
		"items": object{
			"type": "object", "additionalProperties": false, "required": []string{"id"},
			"properties": object{"id": object{"type": "string"}, "config": object{"type": []string{"object", "null"}}},
		},
	}
}

func ref(def string) object { return object{"$ref": "#/$defs/" + def} }

// definition is the schema of the plugin's options, in which nothing means {}.
func (p *plugin) definition() (object, error) {
	var def object
	if err := json.Unmarshal(p.check.Raw(), &def); err != nil {
		return nil, err
	}
	if len(p.node.Required) == 0 {
		def["type"] = []string{"object", "null"}
	}
	if p.Title != "" && def["description"] == nil {
		def["description"] = p.Title
	}
	if p.Name == GroupName {
		props := def["properties"].(object)
		props["policy"], props["plugins"] = ref("policy"), ref("plugins")
	}
	return def, nil
}
