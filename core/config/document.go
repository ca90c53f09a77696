package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Document is a configuration that was read and checked. It is immutable: what
// it holds must not be changed.
type Document struct {
	File     string       // the project's file, as given; "" if there is none
	Files    []FileInfo   // all files that were read, lowest layer first
	Entries  []*Entry     // in the order of the file
	Policy   []PolicyRule // tools.policy of all trusted sources, as one source
	Tighten  []PolicyRule // of a file that is not trusted: a source of its own, which can only tighten
	Warnings []Issue
	LeftOut  []LeftOut // what a file that is not trusted wanted and did not get
	Secrets  []string  // values that came from variables and files: never to be shown or kept

	merged object
	layers layers
	schema *Schema
}

// FileInfo says which bytes of a file were read.
type FileInfo struct {
	Path    string
	SHA256  string
	Trusted bool
}

// Entry is a plugin that should run, or is kept but disabled.
type Entry struct {
	ID       string // unique over the whole document
	Plugin   string // the plugin's own name, also where the file uses an alias
	Key      string // as the file writes it
	Disabled bool   // by itself; a group that is disabled disables what is in it
	Order    int    // place in the file, counted over the whole tree
	Pos      Position

	// Config holds the options with defaults, as JSON with sorted keys. Digest
	// is its SHA-256: entries of one plugin with equal digests are configured
	// alike.
	Config json.RawMessage
	Digest string

	Group *Group // for a group; else nil
}

// Name returns the entry as paths and people name it: plugin, or plugin:id.
func (e *Entry) Name() string {
	if e.ID == e.Plugin {
		return e.Plugin
	}
	return e.Plugin + ":" + e.ID
}

// Group is what a group:id entry holds.
type Group struct {
	Filter  Filter
	Policy  []PolicyRule // only tightens
	Entries []*Entry
}

// PolicyRule is one line of a policy.
type PolicyRule struct {
	Pattern string
	Value   string // auto, ask, ask! or off
	Pos     Position
	Source  string // "env X" or "--set x=y" where there is no position
}

// LeftOut is a part of a file that needs trust.
type LeftOut struct {
	Pos    Position
	Path   string
	Reason string // why it needs trust
	Value  string // what the file says there, as JSON; variables are not read
}

// maxLeftOut is how many characters of a value String shows.
const maxLeftOut = 300

// String returns one line, with the begin of a long value.
func (l LeftOut) String() string {
	value := []rune(l.Value)
	if len(value) > maxLeftOut {
		value = append(value[:maxLeftOut:maxLeftOut], []rune(fmt.Sprintf("… (%d characters)", len(value)))...)
	}
	return l.line(string(value))
}

// Full is String with the whole value.
func (l LeftOut) Full() string { return l.line(l.Value) }

func (l LeftOut) line(value string) string {
	if value != "" {
		value = ": " + value
	}
	return Issue{Pos: l.Pos, Path: l.Path, Message: l.Reason + value}.String()
}

// Walk calls f for every entry, groups before what is in them.
func (d *Document) Walk(f func(*Entry)) { walkEntries(d.Entries, f) }

func walkEntries(entries []*Entry, f func(*Entry)) {
	for _, e := range entries {
		f(e)
		if e.Group != nil {
			walkEntries(e.Group.Entries, f)
		}
	}
}

// Entry returns the entry with the given id or name:id, or nil.
func (d *Document) Entry(id string) *Entry {
	var found *Entry
	d.Walk(func(e *Entry) {
		if found == nil && (e.ID == id || e.Name() == id) {
			found = e
		}
	})
	return found
}

// Fingerprint identifies the content of the files that were read, for
// [Watcher.Applied].
func (d *Document) Fingerprint() string {
	var b strings.Builder
	for _, f := range d.Files {
		if f.Path != builtinName {
			fmt.Fprintf(&b, "%s %s\n", f.SHA256, f.Path)
		}
	}
	return b.String()
}
