package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// GroupName is the plugin name that nests entries: group:research.
const GroupName = "group"

// Plugin describes a compiled-in plugin as far as its configuration goes.
type Plugin struct {
	Name  string
	Title string // one line for the schema

	// Config is the type of its options. Nil and struct{} mean that there are
	// none.
	Config reflect.Type

	// Aliases are other names under which files may know the plugin.
	Aliases []Alias

	// Renamed maps old names of options to present ones ("budgets.steps"); an
	// old name in a file is an error that names the present one.
	Renamed map[string]string

	// Harmless says that a file which nobody trusted may start the plugin, with
	// default options.
	Harmless bool

	// Folders names options that hold a folder. A file which nobody trusted may
	// set them to one inside its own folder.
	Folders []string

	// Check says what is wrong with options that fit the schema. Optional; it
	// must have no side effects and may run concurrently.
	Check func(options json.RawMessage) error
}

// Alias is another name of a plugin, with the options that the name implies.
type Alias struct {
	Name    string
	Options map[string]any // JSON values; what the file says wins
}

func (p *Plugin) configType() reflect.Type {
	if p.Config == nil {
		return reflect.TypeFor[struct{}]()
	}
	return p.Config
}

// entryKey is a key of a plugins mapping: [~]name[:id].
type entryKey struct {
	name     string // as written, perhaps an alias
	id       string // "" if the key gives none
	disabled bool
}

// parseEntryKey reads a key of a plugins mapping. The error says what is wrong
// with it.
func parseEntryKey(key string) (entryKey, error) {
	var k entryKey
	rest, disabled := strings.CutPrefix(key, "~")
	k.disabled = disabled
	name, id, hasID := strings.Cut(rest, ":")
	k.name, k.id = name, id
	switch {
	case !validName(name):
		return k, fmt.Errorf("want a plugin's name, or name:id, perhaps with a leading ~, got %q", printable(key, 80))
	case hasID && !validID(id):
		return k, fmt.Errorf("the id after the colon is 1 to 64 letters, digits, dots, - or _, got %q", printable(id, 80))
	case name == GroupName && !hasID:
		return k, fmt.Errorf("a group needs an id: group:research")
	}
	return k, nil
}

func validName(s string) bool { return s != "" && len(s) <= 128 && only(s, "_-./@") }
func validID(s string) bool   { return s != "" && len(s) <= 64 && only(s, "_-.") }

func only(s, signs string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(signs, r)
	}) < 0
}
