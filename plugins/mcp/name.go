package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/agentd-host/agentd/core"
)

const (
	nameLimit  = 64 // what the registry and the providers take
	hashDigits = 12
)

// publicName is the name under which a server's tool is known here. It
// depends on nothing but its arguments, so it is the same whatever the order
// in which servers connect. The tool is never found by taking the name apart.
//
// Where a character had to be replaced or the limit cut something off, a hash
// of the true names keeps tools apart that would otherwise become one.
func publicName(server, tool string) string {
	name := core.MCPPrefix + clean(server) + "__" + clean(tool)
	if name == core.MCPPrefix+server+"__"+tool && len(name) <= nameLimit {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	hash := hex.EncodeToString(sum[:])[:hashDigits]
	return name[:min(len(name), nameLimit-1-hashDigits)] + "_" + hash
}

// clean replaces each character that a tool's name can't have.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}
