package toolpolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// maxDefinitions bounds what definitions remembers; a host with more tools
// only hashes again.
const maxDefinitions = 1 << 12

// definitions remembers the hashes of tools' definitions. The zero value is
// ready; safe for concurrent use.
type definitions struct {
	mu    sync.Mutex // guards the field below
	known map[string]definition
}

// definition is what a tool of some name claimed to be, and its hash.
type definition struct {
	description string
	parameters  json.RawMessage
	hash        string
}

func (d *definition) is(t *core.Tool) bool {
	return d.description == t.Description && sameBytes(d.parameters, t.Parameters)
}

// hash is definitionHash, computed once for as long as the tool stays what it
// is.
func (d *definitions) hash(t *core.Tool) string {
	d.mu.Lock()
	known, ok := d.known[t.Name]
	d.mu.Unlock()
	if ok && known.is(t) {
		return known.hash
	}
	now := definition{t.Description, t.Parameters, definitionHash(t)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDefinitions {
		d.known = map[string]definition{}
	}
	d.known[t.Name] = now
	return now.hash
}

// definitionHash identifies what a tool claimed to be.
func definitionHash(t *core.Tool) string {
	h := sha256.New()
	for _, part := range []string{t.Name, t.Description, string(t.Parameters)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
