package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/agentd-host/agentd/core/schema"
)

// A Plugin is a piece of behaviour with a config of type C, which is struct{}
// if there is nothing to configure. It is a value without state: the same
// one may be loaded many times.
type Plugin[C any] struct {
	Name        string // in agent.yml and in messages; empty: the parent's name
	Title       string // for display
	Description string

	// Needs are the services that it uses. It is loaded while all required
	// ones are there and unloaded before one of them goes.
	Needs []Need
	// Provides are the services that it will provide, if it says so: any
	// other is then refused. Cycles of required services are found with it.
	Provides []Handle

	// Apply starts one activation: it registers on c what the plugin is.
	// It runs in a goroutine of the host, never concurrently with another
	// Apply or Reconfigure of the same fiber. If it fails, what it had
	// registered is undone. c is cancelled when the load is no longer wanted.
	Apply func(c *Context, cfg C) error
	// Reconfigure takes a new config in place. Optional. (true, nil) means
	// that it did; (false, nil) asks for a restart; an error refuses the new
	// config and the old one stays. What it registered on c is kept only when
	// it accepted.
	Reconfigure func(c *Context, old, new C) (accepted bool, err error)
	// Validate checks a config beyond its type. Optional. It may be called
	// from any goroutine, also when nothing is loaded.
	Validate func(cfg C) error

	// Aliases are other names under which a configuration may know it.
	Aliases []Alias
	// Renamed maps old names of options to present ones ("budgets.steps").
	Renamed map[string]string
	// Harmless says that a configuration which nobody trusted may start it
	// with default options: it then runs no program, sends nothing and reads
	// nothing outside the folder.
	Harmless bool
	// Folders names options that hold a folder, which such a configuration
	// may set to one inside its own.
	Folders []string
}

// Alias is another name of a plugin and the options that the name implies;
// what is configured wins over them.
type Alias struct {
	Name    string
	Options map[string]any // JSON values
}

// AnyPlugin is a [Plugin] of any config type, for those who load plugins by
// name. Only Plugin implements it.
type AnyPlugin interface {
	Info() PluginInfo

	decode(raw json.RawMessage) (any, error)
	check(cfg any) error
	apply(c *Context, cfg any) error
	reconfigure(c *Context, old, new any) (bool, error)
}

// PluginInfo is what a plugin says about itself.
type PluginInfo struct {
	Name, Title, Description string
	Config                   reflect.Type // nil if there is nothing to configure
	Needs                    []Need
	Provides                 []Handle
	Reconfigures             bool

	Aliases  []Alias
	Renamed  map[string]string
	Harmless bool
	Folders  []string
}

// Info describes the plugin.
func (p Plugin[C]) Info() PluginInfo {
	t := reflect.TypeFor[C]()
	if t == reflect.TypeFor[struct{}]() {
		t = nil
	}
	return PluginInfo{
		Name: p.Name, Title: p.Title, Description: p.Description, Config: t,
		Needs: p.Needs, Provides: p.Provides, Reconfigures: p.Reconfigure != nil,
		Aliases: p.Aliases, Renamed: p.Renamed, Harmless: p.Harmless, Folders: p.Folders,
	}
}

func (p Plugin[C]) decode(raw json.RawMessage) (any, error) {
	var cfg C
	raw = bytes.TrimSpace(raw)
	t := reflect.TypeFor[C]()
	if len(raw) == 0 || string(raw) == "null" {
		if t.Kind() != reflect.Struct {
			return cfg, p.check(cfg)
		}
		raw = json.RawMessage("{}")
	}
	s, err := schema.Of(t)
	if err != nil {
		return nil, p.invalid(err)
	}
	if err := s.Validate(raw).Err(); err != nil {
		return nil, p.invalid(err)
	}
	if err := schema.Decode(raw, &cfg); err != nil {
		return nil, p.invalid(err)
	}
	return cfg, p.check(cfg)
}

func (p Plugin[C]) check(cfg any) error {
	c, ok := cfg.(C)
	if !ok {
		return p.invalid(fmt.Errorf("is a %T, want %v", cfg, reflect.TypeFor[C]()))
	}
	if p.Validate == nil {
		return nil
	}
	if err := p.Validate(c); err != nil {
		return p.invalid(err)
	}
	return nil
}

func (p Plugin[C]) invalid(err error) error {
	return &ConfigError{Plugin: p.Name, Issues: schema.IssuesOf(err), Err: err}
}

func (p Plugin[C]) apply(c *Context, cfg any) error {
	if p.Apply == nil {
		return nil
	}
	return p.Apply(c, cfg.(C))
}

func (p Plugin[C]) reconfigure(c *Context, old, new any) (bool, error) {
	return p.Reconfigure(c, old.(C), new.(C))
}

var _ AnyPlugin = Plugin[struct{}]{}

// CheckConfig says what is wrong with raw as a config of p, by its type and
// by its Validate; nil if p could be loaded with it. It loads nothing.
func CheckConfig(p AnyPlugin, raw json.RawMessage) error {
	_, err := p.decode(raw)
	return err
}
