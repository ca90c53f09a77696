package mcp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A rawResult is a result that goes to a client as it is. The SDK sees a
// result without metadata; what the modern era wants in each is added when it
// is written and missing.
type rawResult struct {
	mcp.ResultBase
	raw    json.RawMessage
	modern *mcp.Implementation // set for clients of the modern era: who answers
	cached bool                // of a kind that says how long it may be kept
}

// GetMeta keeps the SDK from writing into a result that is not its own.
func (r *rawResult) GetMeta() map[string]any { return nil }

// SetMeta does nothing, see GetMeta.
func (r *rawResult) SetMeta(map[string]any) {}

// MarshalJSON writes the result.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	if r.modern == nil {
		return r.raw, nil
	}
	f, err := readFields(r.raw)
	if err != nil {
		return r.raw, nil
	}
	var add fields
	missing := func(name string, value json.RawMessage) {
		if f.get(name) == nil {
			add = append(add, field{name, value})
		}
	}
	missing("resultType", json.RawMessage(`"complete"`))
	if r.cached {
		missing("ttlMs", json.RawMessage(`0`))
		missing("cacheScope", json.RawMessage(`"private"`))
	}
	meta, err := readFields(orNull(f.get("_meta")))
	if err != nil {
		meta = nil
	}
	if meta.get(mcp.MetaKeyServerInfo) == nil {
		meta = meta.with(mcp.MetaKeyServerInfo, encode(r.modern))
		f = f.without(func(e field) bool { return e.name == "_meta" })
		add = append(add, field{"_meta", meta.raw()})
	}
	return append(f, add...).raw(), nil
}

var _ json.Marshaler = (*rawResult)(nil)
