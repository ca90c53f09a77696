package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Issue is one thing that is wrong with a value. Its texts are made from the
// schema and fit for a user or a model.
type Issue struct {
	Path    string          // to the value, such as servers."a.b".args[0]; "" is the whole
	Pointer string          // the same as a JSON pointer
	Keyword string          // of the schema: type, required, additionalProperties, ...
	Want    string          // "an integer", "auto, ask or off"
	Got     string          // "\"offf\"", "an object", "nothing"
	Near    string          // the name or value that was probably meant, or ""
	Message string          // want and got in a sentence, without the path
	Schema  json.RawMessage // schema of the value, or of the missing property; may be nil
}

// String is the path and the message.
func (i Issue) String() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

// Issues is what is wrong with a value, sorted by path. As an error it names all
// of it.
type Issues []Issue

// Error lists every issue.
func (is Issues) Error() string {
	texts := make([]string, len(is))
	for i, issue := range is {
		texts[i] = issue.String()
	}
	return strings.Join(texts, "; ")
}

// Err is is as an error, nil if there is nothing wrong.
func (is Issues) Err() error {
	if len(is) == 0 {
		return nil
	}
	return is
}

// IssuesOf lists what an error says, one by one if it was joined of several.
// What is no issue becomes one about the whole.
func IssuesOf(err error) Issues {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all Issues
		for _, e := range many.Unwrap() {
			all = append(all, IssuesOf(e)...)
		}
		return all
	}
	if is := (Issues)(nil); errors.As(err, &is) {
		return is
	}
	return Issues{{Message: err.Error()}}
}

// At makes err be about the value that the keys lead to; places that it speaks
// of itself are below that. A check beyond the schema says so where it looked.
// Nil stays nil.
func At(err error, keys ...string) error {
	if err == nil {
		return nil
	}
	at := path(keys)
	issues := slices.Clone(IssuesOf(err))
	for i := range issues {
		below := issues[i].Path
		if below != "" && below[0] != '[' {
			below = "." + below
		}
		issues[i].Path, issues[i].Pointer = at.String()+below, at.pointer()+issues[i].Pointer
	}
	return issues
}

func (is Issues) sorted() Issues {
	slices.SortStableFunc(is, func(a, b Issue) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Keyword, b.Keyword),
			strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(is, func(a, b Issue) bool {
		return a.Path == b.Path && a.Message == b.Message
	})
}

// path is the way to a value; the zero path is the whole document.
type path []string

// Items are kept apart from keys by a leading NUL, which no step of a key that
// passed through a JSON pointer begins with by accident.
const itemMark = "\x00"

func (p path) key(name string) path { return append(p[:len(p):len(p)], name) }
func (p path) item(i int) path      { return append(p[:len(p):len(p)], itemMark+strconv.Itoa(i)) }

var plainKey = regexp.MustCompile(`^[\pL_~$][\pL\pN_~$:-]*$`)

func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		if n, ok := strings.CutPrefix(step, itemMark); ok {
			b.WriteString("[" + n + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if plainKey.MatchString(step) {
			b.WriteString(step)
		} else {
			b.WriteString(strconv.Quote(step))
		}
	}
	return b.String()
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func (p path) pointer() string {
	var b strings.Builder
	for _, step := range p {
		b.WriteString("/" + pointerEscape.Replace(strings.TrimPrefix(step, itemMark)))
	}
	return b.String()
}

// steps splits a location of the validator: a JSON pointer whose steps are
// percent-encoded on top.
func steps(location string) []string {
	if location == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(location, "/"), "/")
	for i, part := range parts {
		if plain, err := url.PathUnescape(part); err == nil {
			part = plain
		}
		part = strings.ReplaceAll(part, "~1", "/")
		parts[i] = strings.ReplaceAll(part, "~0", "~")
	}
	return parts
}

func sentence(want, got, near string) string {
	text := "want " + want + ", got " + got
	if near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

func newIssue(at path, keyword, want, got, near string, sub json.RawMessage) Issue {
	return Issue{Path: at.String(), Pointer: at.pointer(), Keyword: keyword, Want: want, Got: got,
		Near: near, Message: sentence(want, got, near), Schema: sub}
}

func mismatch(at path, want string, raw json.RawMessage) error {
	return Issues{newIssue(at, "type", want, brief(raw), "", nil)}
}

func unknownKey(at path, name string, known []string, sub json.RawMessage) Issue {
	i := Issue{Path: at.String(), Pointer: at.pointer(), Keyword: "additionalProperties",
		Got: strconv.Quote(name), Near: Nearest(name, known), Schema: sub}
	slices.Sort(known)
	switch {
	case len(known) == 0:
		i.Want = "no keys"
	case len(known) > 12:
		i.Want = "a known key"
	default:
		i.Want = list(known)
	}
	switch {
	case i.Near != "":
		i.Message = fmt.Sprintf("unknown key; did you mean %q?", i.Near)
	case len(known) == 0 || len(known) > 12:
		i.Message = "unknown key; want " + i.Want
	default:
		i.Message = "unknown key; known are " + strings.Join(known, ", ")
	}
	return i
}

func tooDeep() Issue {
	return Issue{Keyword: "depth", Want: fmt.Sprintf("at most %d levels of nesting", MaxDepth), Got: "more",
		Message: fmt.Sprintf("nested deeper than %d levels; make it flatter", MaxDepth)}
}

func notJSON(raw []byte) Issue {
	text := "not valid JSON"
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		text += ": " + err.Error()
	}
	return Issue{Keyword: "json", Want: "JSON", Got: brief(raw), Message: text}
}

// list joins words as in "auto, ask or off".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

const briefLength = 60

// brief shows a JSON value in a few words.
func brief(raw json.RawMessage) string {
	switch kindOf(raw) {
	case "nothing":
		return "nothing"
	case "object":
		return "an object"
	case "array":
		return "an array"
	}
	if len(raw) <= briefLength {
		return string(raw)
	}
	cut := briefLength
	for cut > 0 && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	return string(raw[:cut]) + "…"
}
