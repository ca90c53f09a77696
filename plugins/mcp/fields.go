package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
)

// fields is a JSON object whose keys keep their order and whose values stay
// as they were written.
type fields []field

type field struct {
	name  string
	value json.RawMessage
}

// readFields reads an object. Of a key that comes twice both are kept.
func readFields(raw json.RawMessage) (fields, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var out fields
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		out = append(out, field{key.(string), value})
	}
	return out, nil
}

// get gives the last value of a key, as decoders do.
func (f fields) get(name string) json.RawMessage {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name {
			return f[i].value
		}
	}
	return nil
}

// with returns the object with one value replaced where it stands, or put at
// the end.
func (f fields) with(name string, value json.RawMessage) fields {
	out := make(fields, 0, len(f)+1)
	found := false
	for _, e := range f {
		if e.name == name {
			e.value, found = value, true
		}
		out = append(out, e)
	}
	if !found {
		out = append(out, field{name, value})
	}
	return out
}

// without returns the object without some keys.
func (f fields) without(drop func(field) bool) fields {
	out := make(fields, 0, len(f))
	for _, e := range f {
		if !drop(e) {
			out = append(out, e)
		}
	}
	return out
}

// raw writes the object.
func (f fields) raw() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(e.name))
		b.WriteByte(':')
		b.Write(e.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// withText is an object with another text under a key, everything else as it
// was.
func withText(raw json.RawMessage, key, text string) json.RawMessage {
	f, err := readFields(raw)
	if err != nil {
		return raw
	}
	return f.with(key, encode(text)).raw()
}

// listing is a tool for a list that several servers share: under its public
// name, and otherwise as received unless a strict client would refuse the
// whole list for it. nil if there is nothing to list.
//
// The list of a transparent mount keeps what the server sent. A client that
// can't read it there could not read it from the server, which is what that
// mount stands for; and one that can shall see what there is.
func (d *definition) listing(name string) json.RawMessage {
	f, err := readFields(d.Raw)
	if err != nil {
		return nil
	}
	f = f.with("name", encode(name))
	if f.get("inputSchema") == nil || d.Input == nil {
		f = f.with("inputSchema", emptySchema)
	}
	raw, _ := aTool(f.raw())
	return raw
}
