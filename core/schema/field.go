package schema

import (
	"encoding"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"
)

var (
	durationType   = reflect.TypeFor[time.Duration]()
	timeType       = reflect.TypeFor[time.Time]()
	urlType        = reflect.TypeFor[url.URL]()
	rawType        = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	jsonUnmarshal  = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshal  = reflect.TypeFor[encoding.TextUnmarshaler]()
	schemaMaker    = reflect.TypeFor[schemaMakerType]()
	aliasMaker     = reflect.TypeFor[interface{ JSONSchemaAlias() any }]()
	structTypeInfo sync.Map // reflect.Type -> *structInfo; a cache
)

// field is one JSON property of a struct type.
type field struct {
	name     string // JSON name
	index    []int  // as for reflect.Value.FieldByIndex
	typ      reflect.Type
	tag      reflect.StructTag
	goName   string
	optional bool // omitempty, omitzero, pointer or default
	quoted   bool // the ",string" option
	defaults []string
	def      func() (json.RawMessage, error) // the default as JSON; nil without one
}

// structInfo lists the JSON properties of a struct as encoding/json sees them.
type structInfo struct {
	fields []field
	byName map[string]int
}

// structOf returns the cached properties of struct type t.
func structOf(t reflect.Type) *structInfo {
	if v, ok := structTypeInfo.Load(t); ok {
		return v.(*structInfo)
	}
	info := &structInfo{byName: map[string]int{}}
	info.collect(t, nil, 0, map[string]int{}, map[reflect.Type]bool{})
	v, _ := structTypeInfo.LoadOrStore(t, info)
	return v.(*structInfo)
}

// collect walks t and the structs embedded in it; a shallower field of the same
// name wins.
func (s *structInfo) collect(
	t reflect.Type, index []int, depth int, depths map[string]int, open map[reflect.Type]bool,
) {
	if open[t] {
		return // a type that embeds itself; refused elsewhere
	}
	open[t] = true
	defer delete(open, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" && opts == "" {
			continue
		}
		if inner, ok := embedded(sf, name); ok {
			s.collect(inner, at, depth+1, depths, open)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := newField(sf, name, opts, at)
		if d, ok := depths[f.name]; ok && d <= depth {
			continue
		}
		depths[f.name] = depth
		s.put(f)
	}
}

func (s *structInfo) put(f field) {
	if i, ok := s.byName[f.name]; ok {
		s.fields[i] = f
		return
	}
	s.byName[f.name] = len(s.fields)
	s.fields = append(s.fields, f)
}

// embedded reports whether sf is a struct whose properties are promoted.
func embedded(sf reflect.StructField, name string) (reflect.Type, bool) {
	if !sf.Anonymous || name != "" {
		return nil, false
	}
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, t.Kind() == reflect.Struct
}

func newField(sf reflect.StructField, name, opts string, index []int) field {
	if name == "" {
		name = sf.Name
	}
	f := field{name: name, index: index, typ: sf.Type, tag: sf.Tag, goName: sf.Name}
	for opt := range strings.SplitSeq(opts, ",") {
		f.optional = f.optional || opt == "omitempty" || opt == "omitzero"
		f.quoted = f.quoted || opt == "string"
	}
	for _, part := range splitTag(sf.Tag.Get("jsonschema")) {
		if value, ok := strings.CutPrefix(part, "default="); ok {
			f.defaults = append(f.defaults, value)
		}
	}
	f.optional = f.optional || sf.Type.Kind() == reflect.Pointer || len(f.defaults) > 0
	if len(f.defaults) > 0 {
		f.def = sync.OnceValues(f.makeDefault)
	}
	return f
}

// splitTag splits a jsonschema tag at commas that no backslash precedes.
func splitTag(tag string) []string {
	if tag == "" {
		return nil
	}
	var parts []string
	var part strings.Builder
	for i := 0; i < len(tag); i++ {
		switch {
		case tag[i] == '\\' && i+1 < len(tag) && tag[i+1] == ',':
			part.WriteByte(',')
			i++
		case tag[i] == ',':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(tag[i])
		}
	}
	return append(parts, part.String())
}

// custom reports whether values of t decode themselves, so that the fields of
// t, if any, are not ours to look at.
func custom(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == rawType || p.Implements(jsonUnmarshal) || p.Implements(textUnmarshal)
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
