package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Common is the limit that all providers share: at most 64 of
// [A-Za-z0-9_-]; Pattern says the same for llm.Info.
const (
	Common  = 64
	Pattern = "^[a-zA-Z0-9_-]{1,64}$"
)

// Names translates the names of one request's tools to the wire and back.
// The zero value is not ready; see [NewNames].
type Names struct {
	max       int
	wire      map[string]string // canonical -> wire
	canonical map[string]string // wire -> canonical
}

// NewNames makes a table for names of at most max bytes.
func NewNames(max int) *Names {
	return &Names{max: max, wire: map[string]string{}, canonical: map[string]string{}}
}

// Wire gives the name that a provider takes. A name that needs no change keeps
// itself; others are made from it and a hash of it, always the same way, so
// that it is the same in each request and none is another's.
func (n *Names) Wire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	w := n.clean(name)
	if _, taken := n.canonical[w]; taken || w != name {
		w = n.hashed(w, name)
	}
	n.wire[name], n.canonical[w] = w, name
	return w
}

// Canonical gives the name that belongs to one on the wire; a name that was
// never sent is what the model made up, and stays.
func (n *Names) Canonical(wire string) string {
	if name, ok := n.canonical[wire]; ok {
		return name
	}
	return wire
}

// clean replaces what is not allowed.
func (n *Names) clean(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "_"
	}
	if len(clean) > n.max {
		return clean[:n.max]
	}
	return clean
}

// hashed ends a name with a hash of the canonical one.
func (n *Names) hashed(clean, name string) string {
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	return clean[:min(len(clean), n.max-len(tail))] + tail
}
