package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"
)

type schemaMakerType interface{ JSONSchema() *jsonschema.Schema }

var (
	generated sync.Map // reflect.Type -> made; a cache
	ours      sync.Map // text of a schema that For made -> struct{}
)

type made struct {
	raw json.RawMessage
	err error
}

// For returns the JSON schema of t as compact JSON, which the caller must not
// change. The result is cached by type. It fails for recursive types and for
// types that JSON cannot carry, naming them.
func For(t reflect.Type) (json.RawMessage, error) {
	if v, ok := generated.Load(t); ok {
		m := v.(made)
		return m.raw, m.err
	}
	raw, err := generate(t)
	v, _ := generated.LoadOrStore(t, made{raw, err})
	if err == nil {
		ours.Store(string(raw), struct{}{})
	}
	m := v.(made)
	return m.raw, m.err
}

func generate(t reflect.Type) (raw json.RawMessage, err error) {
	if err := checkType(t, t.String(), nil); err != nil {
		return nil, err
	}
	// invopop panics on what it does not know; a plugin's type must not end us.
	defer func() {
		if r := recover(); r != nil {
			raw, err = nil, fmt.Errorf("schema of %s: %v", t, r)
		}
	}()
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: mapType}
	s := r.ReflectFromType(t)
	s.Version, s.Definitions = "", nil
	if err := finish(s, t); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return json.Marshal(s)
}

// checkType refuses types that contain themselves (reflection would not end)
// and those without a JSON form.
func checkType(t reflect.Type, path string, open []reflect.Type) error {
	t = deref(t)
	if t == timeType || t == durationType || t == rawType || selfDescribed(t) || custom(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkStruct(t, path, open)
	case reflect.Slice, reflect.Array:
		return checkElem(t, path+"[]", open)
	case reflect.Map:
		if !jsonKey(t.Key()) {
			return fmt.Errorf("%s: map keys of type %s are not JSON; use strings", path, t.Key())
		}
		return checkElem(t, path+"{}", open)
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%s: type %s has no JSON form", path, t)
	}
	return nil
}

func checkElem(t reflect.Type, path string, open []reflect.Type) error {
	open, err := enter(t, path, open)
	if err != nil {
		return err
	}
	return checkType(t.Elem(), path, open)
}

func checkStruct(t reflect.Type, path string, open []reflect.Type) error {
	if t == urlType {
		return fmt.Errorf("%s: url.URL does not decode from a JSON string; use string", path)
	}
	open, err := enter(t, path, open)
	if err != nil {
		return err
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Tag.Get("json") == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		if _, ok := embedded(sf, name); !ok && !sf.IsExported() {
			continue
		}
		if err := checkType(sf.Type, path+"."+sf.Name, open); err != nil {
			return err
		}
	}
	return nil
}

// enter refuses t if it is being visited already. Only named types can recur.
func enter(t reflect.Type, path string, open []reflect.Type) ([]reflect.Type, error) {
	for _, o := range open {
		if o == t {
			return nil, fmt.Errorf("%s: type %s contains itself, which has no schema; use json.RawMessage there",
				path, t)
		}
	}
	return append(open[:len(open):len(open)], t), nil
}

func jsonKey(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return reflect.PointerTo(t).Implements(textUnmarshal)
}

func selfDescribed(t reflect.Type) bool {
	return t.Implements(schemaMaker) || t.Implements(aliasMaker)
}

// mapType gives the schema of types that invopop would describe by their Go
// kind although they travel differently.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == durationType:
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
	case t == numberType:
		return &jsonschema.Schema{Type: "number"}
	case t == timeType || selfDescribed(t):
		return nil
	case t == rawType || t.Kind() == reflect.Interface:
		return anything()
	case reflect.PointerTo(t).Implements(jsonUnmarshal):
		return anything()
	case reflect.PointerTo(t).Implements(textUnmarshal):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// anything is written as {}; a schema without extras would be written as true,
// which some readers refuse.
func anything() *jsonschema.Schema {
	return &jsonschema.Schema{Extras: map[string]any{}}
}

// finish walks s beside its type and sets what tags alone do not say: which
// properties are required, defaults with their JSON type, bounds of unsigned
// integers.
func finish(s *jsonschema.Schema, t reflect.Type) error {
	t = deref(t)
	if s == nil || selfDescribed(t) || t == timeType || custom(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return finishStruct(s, t)
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			return finish(s.Items, t.Elem())
		}
	case reflect.Map:
		if s.PatternProperties == nil {
			return finish(s.AdditionalProperties, t.Elem())
		}
		for _, sub := range s.PatternProperties { // integer keys
			if err := finish(sub, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if s.Type == "integer" && s.Minimum == "" && s.ExclusiveMinimum == "" {
			s.Minimum = "0"
		}
	}
	return nil
}

func finishStruct(s *jsonschema.Schema, t reflect.Type) error {
	if s.Properties == nil {
		return nil
	}
	forced := s.Required
	s.Required = nil
	for _, f := range structOf(t).fields {
		p, ok := s.Properties.Get(f.name)
		if !ok {
			continue
		}
		if !f.optional || taggedRequired(f) && contains(forced, f.name) {
			s.Required = append(s.Required, f.name)
		}
		value := p
		if len(p.OneOf) == 2 && p.Type == "" && p.OneOf[1].Type == "null" {
			value = p.OneOf[0] // the nullable tag wraps
		}
		if err := finish(value, f.typ); err != nil {
			return err
		}
		if len(f.defaults) == 0 {
			continue
		}
		raw, err := f.def()
		if err != nil {
			return err
		}
		value.Default = raw
	}
	return nil
}

func taggedRequired(f field) bool {
	return contains(splitTag(f.tag.Get("jsonschema")), "required")
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}
