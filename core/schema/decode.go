package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// Decode reads raw into *v: defaults first, also in the items of lists and maps,
// then what raw says. It is strict: names must match exactly, a name that the
// type lacks or that comes twice is an error, and so is a nesting of more than
// [MaxDepth]. Durations are strings. null leaves the default. An empty raw means
// {}. Errors are of type [Issues].
//
// Whether required properties are there is the schema's business, not Decode's.
func Decode[T any](raw json.RawMessage, v *T) error {
	return DecodeValue(raw, reflect.ValueOf(v).Elem())
}

// DecodeValue is [Decode] for a settable value whose type is known at run time.
func DecodeValue(raw json.RawMessage, v reflect.Value) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if depth(raw) > MaxDepth {
		return Issues{tooDeep()}
	}
	if !json.Valid(raw) {
		return Issues{notJSON(raw)}
	}
	fresh := reflect.New(v.Type()).Elem()
	if err := decodeValue(raw, fresh, nil); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

// decodeValue reads the valid JSON raw into v; at is the way to it.
func decodeValue(raw json.RawMessage, v reflect.Value, at path) error {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer:
		return decodePointer(raw, v, at)
	case t == durationType:
		return decodeDuration(raw, v, at)
	case t == timeType || custom(t):
		return decodeLeaf(raw, v, at)
	}
	switch t.Kind() {
	case reflect.Struct:
		return decodeStruct(raw, v, at)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return decodeLeaf(raw, v, at)
		}
		return decodeSlice(raw, v, at)
	case reflect.Array:
		return decodeArray(raw, v, at)
	case reflect.Map:
		return decodeMap(raw, v, at)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return decodeLeaf(wholeNumber(raw), v, at)
	}
	return decodeLeaf(raw, v, at)
}

func decodePointer(raw json.RawMessage, v reflect.Value, at path) error {
	if kindOf(raw) == "null" {
		return nil
	}
	target := reflect.New(v.Type().Elem())
	if err := decodeValue(raw, target.Elem(), at); err != nil {
		return err
	}
	v.Set(target)
	return nil
}

func decodeDuration(raw json.RawMessage, v reflect.Value, at path) error {
	if kindOf(raw) == "null" {
		return nil
	}
	d, err := parseDuration(raw)
	if err != nil {
		return mismatch(at, durationWant, raw)
	}
	v.SetInt(int64(d))
	return nil
}

func decodeStruct(raw json.RawMessage, v reflect.Value, at path) error {
	if v.IsZero() { // else whoever holds it has filled it
		if err := fill(v); err != nil {
			return err
		}
	}
	switch kindOf(raw) {
	case "null":
		return nil
	case "object":
	default:
		return mismatch(at, "an object", raw)
	}
	info := structOf(v.Type())
	seen := make([]bool, len(info.fields))
	return members(raw, func(name string, value json.RawMessage) error {
		here := at.key(name)
		i, ok := info.byName[name]
		if !ok {
			return Issues{unknownKey(here, name, info.names(), nil)}
		}
		if seen[i] {
			return Issues{{Path: here.String(), Pointer: here.pointer(), Keyword: "duplicate",
				Want: "each key once", Got: "it again", Message: "the key is there twice; keep one"}}
		}
		seen[i] = true
		f := &info.fields[i]
		if f.quoted {
			return decodeQuoted(value, fieldValue(v, f.index), here)
		}
		return decodeValue(value, fieldValue(v, f.index), here)
	})
}

func (s *structInfo) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// decodeQuoted reads a value that the ",string" option wraps in a string.
func decodeQuoted(raw json.RawMessage, v reflect.Value, at path) error {
	var text string
	if v.Kind() == reflect.String || json.Unmarshal(raw, &text) != nil || !json.Valid([]byte(text)) {
		return decodeValue(raw, v, at)
	}
	return decodeValue(json.RawMessage(text), v, at)
}

func decodeSlice(raw json.RawMessage, v reflect.Value, at path) error {
	switch kindOf(raw) {
	case "null":
		return nil
	case "array":
	default:
		return mismatch(at, "an array", raw)
	}
	list := reflect.MakeSlice(v.Type(), 0, 0)
	err := items(raw, func(i int, value json.RawMessage) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(value, item, at.item(i)); err != nil {
			return err
		}
		list = reflect.Append(list, item)
		return nil
	})
	if err != nil {
		return err
	}
	v.Set(list)
	return nil
}

func decodeArray(raw json.RawMessage, v reflect.Value, at path) error {
	n := 0
	want := fmt.Sprintf("an array of %d items", v.Len())
	if kindOf(raw) != "array" {
		return mismatch(at, want, raw)
	}
	err := items(raw, func(i int, value json.RawMessage) error {
		n++
		if i >= v.Len() {
			return nil
		}
		return decodeValue(value, v.Index(i), at.item(i))
	})
	if err == nil && n != v.Len() {
		return mismatch(at, want, raw)
	}
	return err
}

func decodeMap(raw json.RawMessage, v reflect.Value, at path) error {
	switch kindOf(raw) {
	case "null":
		return nil
	case "object":
	default:
		return mismatch(at, "an object", raw)
	}
	t := v.Type()
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	return members(raw, func(name string, value json.RawMessage) error {
		key, err := mapKey(t, name)
		if err != nil {
			return Issues{{Path: at.key(name).String(), Pointer: at.key(name).pointer(), Keyword: "propertyNames",
				Want: "a key that is a " + t.Key().String(), Got: strconv.Quote(name),
				Message: fmt.Sprintf("the key %q is not a %s", name, t.Key())}}
		}
		item := reflect.New(t.Elem()).Elem()
		if err := decodeValue(value, item, at.key(name)); err != nil {
			return err
		}
		v.SetMapIndex(key, item)
		return nil
	})
}

// mapKey lets encoding/json turn name into a key of map type t.
func mapKey(t reflect.Type, name string) (reflect.Value, error) {
	if t.Key().Kind() == reflect.String && !reflect.PointerTo(t.Key()).Implements(textUnmarshal) {
		return reflect.ValueOf(name).Convert(t.Key()), nil
	}
	one := reflect.New(reflect.MapOf(t.Key(), reflect.TypeFor[struct{}]()))
	quoted, err := json.Marshal(name)
	if err != nil {
		return reflect.Value{}, err
	}
	text := append(append([]byte("{"), quoted...), ":{}}"...)
	if err := json.Unmarshal(text, one.Interface()); err != nil {
		return reflect.Value{}, err
	}
	return one.Elem().MapKeys()[0], nil
}

func decodeLeaf(raw json.RawMessage, v reflect.Value, at path) error {
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return mismatch(at, wantOf(v.Type()), raw)
	}
	return nil
}

// wholeNumber writes 5.0 and 1e3 as 5 and 1000, which JSON holds to be
// integers and encoding/json does not.
func wholeNumber(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(raw, ".eE") || kindOf(raw) != "number" {
		return raw
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return raw
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

// wantOf describes a Go type to a user.
func wantOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return integerRange(t)
	case reflect.Slice:
		return "base64 text"
	}
	if t == timeType {
		return `a time such as "2006-01-02T15:04:05Z"`
	}
	return "a " + t.String()
}

func integerRange(t reflect.Type) string {
	bits := t.Bits()
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		return fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits))
	}
	most := int64(math.MaxInt64) >> (64 - bits)
	return fmt.Sprintf("an integer from %d to %d", -most-1, most)
}
