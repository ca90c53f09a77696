package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core/schema"
)

// variables is where references of a file come from.
type variables struct {
	vars map[string]string
	used func(value string) // told each value that a reference gave, if set
	dir  string             // relative ${file:...} start here
}

func newVariables(environ []string, dir string) *variables {
	e := &variables{vars: make(map[string]string, len(environ)), dir: dir}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			e.vars[k] = v
		}
	}
	return e
}

// reference is one ${...} of a text.
type reference struct {
	kind     string // "env" or "file"
	name     string
	fallback string
	optional bool // has a fallback
}

// String returns the reference without its fallback, which may be a secret.
func (r reference) String() string {
	if r.kind == "file" {
		return "${file:" + r.name + "}"
	}
	return "${" + r.name + "}"
}

// scanText splits a text into literal parts and references: parts[i] comes
// before refs[i], and there is one part more than there are references. The
// escape $$ is a dollar; a dollar before anything else stands for itself.
func scanText(s string) (parts []string, refs []reference, err error) {
	var lit strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			lit.WriteString(s)
			return append(parts, lit.String()), refs, nil
		}
		lit.WriteString(s[:i])
		switch s[i+1] {
		case '$':
			lit.WriteByte('$')
			s = s[i+2:]
		case '{':
			ref, rest, err := cutReference(s[i+2:])
			if err != nil {
				return nil, nil, err
			}
			parts, refs = append(parts, lit.String()), append(refs, ref)
			lit.Reset()
			s = rest
		default:
			lit.WriteByte('$')
			s = s[i+1:]
		}
	}
}

// cutReference reads NAME}, NAME:-default}, env:NAME} or file:path}.
func cutReference(s string) (ref reference, rest string, err error) {
	body, rest, ok := strings.Cut(s, "}")
	if !ok {
		return ref, "", errors.New("${ without }; write $$ for a dollar")
	}
	if strings.Contains(body, "${") {
		return ref, "", errors.New("a variable inside a variable is not possible")
	}
	ref.kind = "env"
	if after, ok := strings.CutPrefix(body, "env:"); ok {
		body = after
	} else if after, ok := strings.CutPrefix(body, "file:"); ok {
		ref.kind, body = "file", after
	}
	ref.name, ref.fallback, ref.optional = strings.Cut(body, ":-")
	if ref.kind == "file" && ref.name == "" {
		return ref, "", errors.New("${file:} names no file")
	}
	if ref.kind == "env" && !variableName(ref.name) {
		return ref, "", fmt.Errorf(
			"${%s} is no variable; want ${NAME}, ${NAME:-default}, ${env:NAME} or ${file:path}, and $$ for a dollar",
			printable(ref.name, 40))
	}
	return ref, rest, nil
}

func variableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// expand replaces the references of s. An empty variable counts as not set
// where there is a default, as in a shell. What is inserted is never scanned
// again. limit bounds the result in bytes.
func (e *variables) expand(s string, limit int) (string, []reference, error) {
	parts, refs, err := scanText(s)
	if err != nil {
		return "", nil, err
	}
	if len(refs) == 0 {
		return parts[0], nil, nil
	}
	var b strings.Builder
	for i, ref := range refs {
		value, err := e.lookup(ref)
		if err != nil {
			return "", refs, err
		}
		if b.Len()+len(parts[i])+len(value) > limit {
			return "", refs, errors.New("more than 1 MiB of text after variables")
		}
		b.WriteString(parts[i])
		b.WriteString(value)
	}
	b.WriteString(parts[len(refs)])
	return b.String(), refs, nil
}

func (e *variables) lookup(ref reference) (string, error) {
	if ref.kind == "file" {
		value, err := e.lookupFile(ref)
		if err == nil && e.used != nil {
			e.used(value)
		}
		return value, err
	}
	value, set := e.vars[ref.name]
	switch {
	case set && (value != "" || !ref.optional):
		if i := strings.IndexFunc(value, badInValue); i >= 0 {
			return "", fmt.Errorf("the variable %s holds a control character", ref.name)
		}
		if e.used != nil && !public(ref.name) {
			e.used(value)
		}
		return value, nil
	case ref.optional:
		return ref.fallback, nil
	}
	msg := fmt.Sprintf("the variable %s is not set; set it, or give a default: ${%s:-default}", ref.name, ref.name)
	if near := schema.Nearest(ref.name, e.names()); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return "", errors.New(msg)
}

// public tells variables that say where and who one is, which is no secret.
func public(name string) bool {
	switch name {
	case "HOME", "PWD", "USER", "LOGNAME", "HOSTNAME", "PATH", "SHELL", "LANG", "TMPDIR", "AGENTD_HOME":
		return true
	}
	return strings.HasPrefix(name, "XDG_")
}

func badInValue(r rune) bool { return r < 0x20 && r != '\t' && r != '\n' && r != '\r' }

func (e *variables) names() []string {
	names := make([]string, 0, len(e.vars))
	for name := range e.vars {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (e *variables) lookupFile(ref reference) (string, error) {
	path := ref.name
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, path)
	}
	f, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && ref.optional {
		return ref.fallback, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	text, err := checkText(path, f.Bytes)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// printable makes text from a file fit for one line of an error: what does
// not print is escaped, and it is cut to n characters.
func printable(s string, n int) string {
	q := strconv.Quote(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	if r := []rune(q); len(r) > n {
		return string(r[:n]) + "..."
	}
	return q
}
