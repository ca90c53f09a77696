package schema

import (
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Lint returns what the tags of t and of the types in it say in vain: keywords
// that do not exist for the type, text cut at a comma, values and defaults that
// do not parse, and integers that should be durations. A test over all config
// and argument types should find nothing.
func Lint(t reflect.Type) []error {
	if err := checkType(t, t.String(), nil); err != nil {
		return []error{err}
	}
	l := linter{seen: map[reflect.Type]bool{}}
	l.visit(t)
	return l.errs
}

type linter struct {
	seen map[reflect.Type]bool
	errs []error
}

func (l *linter) visit(t reflect.Type) {
	t = deref(t)
	if t == timeType || selfDescribed(t) || custom(t) || l.seen[t] {
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		l.visit(t.Elem())
	case reflect.Struct:
		l.seen[t] = true
		for _, f := range structOf(t).fields {
			l.field(t, f)
			l.visit(f.typ)
		}
	}
}

func (l *linter) report(t reflect.Type, f field, format string, args ...any) {
	where := fmt.Sprintf("%s.%s: ", t, f.goName)
	l.errs = append(l.errs, fmt.Errorf(where+format, args...))
}

func (l *linter) field(t reflect.Type, f field) {
	if hasOption(f.tag.Get("json"), "inline") {
		l.report(t, f, "encoding/json has no option inline; embed the struct")
	}
	if isInteger(f.typ) && unitless.MatchString(f.goName) {
		l.report(t, f, "an integer without a unit; use time.Duration, or name the unit")
	}
	if f.def != nil {
		if _, err := f.def(); err != nil {
			l.report(t, f, "%w", err)
		}
	}
	l.tag(t, f)
}

// unitless matches names that speak of a time but of no unit.
var unitless = regexp.MustCompile(`(?i)(timeout|interval|duration|delay|ttl)$`)

// bare are the keywords without a value.
var bare = []string{"required", "nullable", "-"}

func (l *linter) tag(t reflect.Type, f field) {
	parts := splitTag(f.tag.Get("jsonschema"))
	allowed := keywordsFor(f.typ)
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case !ok && slices.Contains(bare, part):
		case i > 0 && (!ok || strings.HasPrefix(part, " ")) && isText(parts[:i]):
			l.report(t, f, "the text is cut at the comma before %q; use the tag jsonschema_description", part)
		case !ok || !slices.Contains(allowed, name):
			l.report(t, f, "keyword %q does nothing on a %s%s", name, f.typ, suggestion(name, allowed))
		default:
			if err := checkKeyword(name, value); err != nil {
				l.report(t, f, "%w", err)
			}
		}
	}
}

// isText reports whether the last proper keyword of parts is free text.
func isText(parts []string) bool {
	for _, part := range slices.Backward(parts) {
		if name, _, ok := strings.Cut(part, "="); ok && !strings.HasPrefix(part, " ") {
			return name == "description" || name == "title" || name == "default" || name == "example"
		}
	}
	return false
}

func suggestion(name string, allowed []string) string {
	if near := Nearest(name, allowed); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

var (
	genericKeywords = []string{"title", "description", "default", "type", "anchor",
		"oneof_required", "anyof_required", "oneof_ref", "oneof_type", "anyof_ref", "anyof_type"}
	textKeywords = []string{"minLength", "maxLength", "pattern", "format", "readOnly", "writeOnly",
		"example", "enum"}
	mathKeywords = []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"example", "enum"}
	listKeywords = []string{"minItems", "maxItems", "uniqueItems"}
)

// keywordsFor lists the keywords of the jsonschema tag that have an effect on a
// field of type t.
func keywordsFor(t reflect.Type) []string {
	t = deref(t)
	switch {
	case t == durationType || t.Kind() == reflect.String:
		return slices.Concat(genericKeywords, textKeywords)
	case t == timeType:
		return slices.Concat(genericKeywords, textKeywords)
	case isInteger(t) || t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return slices.Concat(genericKeywords, mathKeywords)
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !custom(t):
		return slices.Concat(listKeywords, keywordsFor(t.Elem()))
	}
	return genericKeywords
}

// checkKeyword finds values that would be dropped because they do not parse.
func checkKeyword(name, value string) error {
	var err error
	switch name {
	case "minLength", "maxLength", "minItems", "maxItems":
		_, err = strconv.ParseUint(value, 10, 64)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		if _, ok := new(big.Rat).SetString(value); !ok {
			err = fmt.Errorf("not a number")
		}
	case "readOnly", "writeOnly", "uniqueItems":
		_, err = strconv.ParseBool(value)
	case "pattern":
		_, err = regexp.Compile(value)
	}
	if err != nil {
		return fmt.Errorf("%s=%s has no effect: %w", name, value, err)
	}
	return nil
}

func hasOption(tag, option string) bool {
	parts := strings.Split(tag, ",")
	return len(parts) > 1 && slices.Contains(parts[1:], option)
}

func isInteger(t reflect.Type) bool {
	t = deref(t)
	return t != durationType && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}
