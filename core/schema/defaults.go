package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Defaults returns the defaults of struct type t as a JSON object, those of
// nested structs included, in the order of the fields: {} if there are none.
// Put it under what a user wrote.
func Defaults(t reflect.Type) (json.RawMessage, error) {
	if err := checkType(t, t.String(), nil); err != nil {
		return nil, err
	}
	raw, _, err := defaultsOf(deref(t))
	return raw, err
}

// defaultsOf also reports whether there is any default at all.
func defaultsOf(t reflect.Type) (json.RawMessage, bool, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	if t.Kind() == reflect.Struct && !custom(t) {
		for _, f := range structOf(t).fields {
			raw, err := f.allDefaults()
			if err != nil {
				return nil, false, err
			}
			if raw == nil {
				continue
			}
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			name, _ := json.Marshal(f.name)
			b.Write(name)
			b.WriteByte(':')
			b.Write(raw)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), b.Len() > 2, nil
}

// allDefaults is the field's own default, else those inside a struct field, else
// nil. What is behind a pointer stays unset.
func (f field) allDefaults() (json.RawMessage, error) {
	if len(f.defaults) > 0 {
		return f.def()
	}
	if f.typ.Kind() != reflect.Struct {
		return nil, nil
	}
	raw, any, err := defaultsOf(f.typ)
	if err != nil || !any {
		return nil, err
	}
	return raw, nil
}

// makeDefault turns the default of the tag into JSON of the field's type.
func (f field) makeDefault() (json.RawMessage, error) {
	raw, err := defaultFor(deref(f.typ), f.defaults)
	if err == nil {
		err = decodeValue(raw, reflect.New(f.typ).Elem(), nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: default %q is not a %s", f.name, strings.Join(f.defaults, ","), f.typ)
	}
	return raw, nil
}

// defaultFor reads the texts of the default= keywords: one for a plain value,
// one for each item of a list, or one JSON text for a list, map or struct.
func defaultFor(t reflect.Type, texts []string) (json.RawMessage, error) {
	text := texts[len(texts)-1]
	switch {
	case t == durationType:
		if _, err := time.ParseDuration(text); err != nil {
			return nil, err
		}
		return json.Marshal(text)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		return defaultList(t.Elem(), texts)
	case t.Kind() == reflect.String || t == timeType:
		return json.Marshal(text)
	case reflect.PointerTo(t).Implements(textUnmarshal) && !reflect.PointerTo(t).Implements(jsonUnmarshal):
		return json.Marshal(text)
	}
	return asJSON(text)
}

func defaultList(elem reflect.Type, texts []string) (json.RawMessage, error) {
	if len(texts) == 1 && strings.HasPrefix(texts[0], "[") {
		return asJSON(texts[0])
	}
	items := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		item, err := defaultFor(elem, []string{text})
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return json.Marshal(items)
}

func asJSON(text string) (json.RawMessage, error) {
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	return json.RawMessage(text), nil
}

// fill sets the defaults of the struct v, its nested structs included. Each
// call decodes them anew, so that no two values share a list or a map.
func fill(v reflect.Value) error {
	if !hasDefaults(v.Type()) {
		return nil
	}
	for _, f := range structOf(v.Type()).fields {
		if len(f.defaults) == 0 {
			if f.typ.Kind() == reflect.Struct {
				if err := fill(fieldValue(v, f.index)); err != nil {
					return err
				}
			}
			continue
		}
		raw, err := f.def()
		if err != nil {
			return err
		}
		if err := decodeValue(raw, fieldValue(v, f.index), nil); err != nil {
			return err
		}
	}
	return nil
}

// hasDefaults reports whether t or a struct nested in it has a default.
func hasDefaults(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || custom(t) {
		return false
	}
	for _, f := range structOf(t).fields {
		if len(f.defaults) > 0 || hasDefaults(f.typ) {
			return true
		}
	}
	return false
}

// fieldValue follows index and makes embedded pointers on the way.
func fieldValue(v reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}
