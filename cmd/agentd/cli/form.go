package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

// A form is the schema of an answer as a person fills it in, line by line.
type form []formField

// A formField is one property of the schema.
type formField struct {
	name     string
	required bool

	Title, Description string
	Type               string
	Enum               []string
	OneOf              []formChoice
	Default            json.RawMessage
	Items              struct {
		Enum  []string
		AnyOf []formChoice
	}
}

type formChoice struct{ Const, Title string }

// readForm reads the properties of an object's schema in their order.
func readForm(schema json.RawMessage) (form, error) {
	var s struct {
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	if len(s.Properties) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("its properties are no object")
	}
	var f form
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		field := formField{name: name.(string)}
		if err := dec.Decode(&field); err != nil {
			return nil, fmt.Errorf("property %s: %w", field.name, err)
		}
		field.required = slices.Contains(s.Required, field.name)
		f = append(f, field)
	}
	return f, nil
}

// form asks for one field after the other. An empty line leaves out what may
// be left out, and else declines the form.
func (a *terminalAsker) form(ctx context.Context, q core.Question) (core.Reply, error) {
	f, err := readForm(q.Schema)
	if err != nil {
		return core.Reply{}, fmt.Errorf("the form can't be shown: %w", err)
	}
	if len(f) == 0 {
		return a.confirm(ctx)
	}
	content := map[string]any{}
	for _, field := range f {
		value, declined, err := a.field(ctx, field)
		if err != nil || declined {
			return core.Reply{Declined: declined}, err
		}
		if value != nil {
			content[field.name] = value
		}
	}
	data, err := json.Marshal(content)
	return core.Reply{Data: data}, err
}

// confirm asks for a yes where there is nothing to fill in.
func (a *terminalAsker) confirm(ctx context.Context) (core.Reply, error) {
	line, err := a.lines.readLine(ctx, "y or n> ")
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	yes, bad := parseYes(strings.TrimSpace(line))
	if err != nil || bad != nil || !yes {
		return core.Reply{Declined: true}, nil
	}
	return core.Reply{Data: json.RawMessage(`{}`)}, nil
}

// field asks until the answer is one. A nil value leaves the field out.
func (a *terminalAsker) field(ctx context.Context, f formField) (value any, declined bool, err error) {
	fmt.Fprint(a.out, wrap(f.text(), a.lines.width()))
	for {
		line, err := a.lines.readLine(ctx, toolpolicy.VisibleLine(f.name)+"> ")
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		line = strings.TrimSpace(line)
		switch {
		case err != nil:
			return nil, true, nil
		case line == "":
			return nil, f.required && len(f.Default) == 0, nil
		}
		if value, err = f.parse(line); err == nil {
			return value, false, nil
		}
		fmt.Fprintln(a.out, a.style.dim(err.Error()))
	}
}

// text says what the field is, behind a gutter, with its choices numbered.
func (f formField) text() string {
	var b strings.Builder
	about := cmp.Or(f.Description, f.Title, f.name) + " (" + f.want()
	switch {
	case len(f.Default) > 0:
		about += "; empty: " + string(f.Default)
	case !f.required:
		about += "; may be empty"
	}
	fmt.Fprintf(&b, "  %s %s\n", gutter, toolpolicy.VisibleLine(about+")"))
	for i, c := range f.choices() {
		fmt.Fprintf(&b, "  %d %s %s\n", i+1, gutter, toolpolicy.VisibleLine(cmp.Or(c.Title, c.Const)))
	}
	return b.String()
}

func (f formField) want() string {
	switch {
	case f.Type == "array":
		return "some, with commas between"
	case len(f.choices()) > 0:
		return "one"
	case f.Type == "boolean":
		return "y or n"
	case f.Type == "integer", f.Type == "number":
		return f.Type
	}
	return "text"
}

// choices are what the field takes, none if it takes anything.
func (f formField) choices() []formChoice {
	titled, plain := f.OneOf, f.Enum
	if f.Type == "array" {
		titled, plain = f.Items.AnyOf, f.Items.Enum
	}
	for _, word := range plain {
		titled = append(slices.Clip(titled), formChoice{Const: word})
	}
	return titled
}

// parse reads what a person wrote into the field.
func (f formField) parse(line string) (any, error) {
	switch {
	case f.Type == "array":
		var all []string
		for _, word := range strings.Split(line, ",") {
			one, err := f.choose(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	case f.Type == "boolean":
		return parseYes(line)
	case f.Type == "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, errors.New("want a whole number")
		}
		return n, nil
	case f.Type == "number":
		n, err := strconv.ParseFloat(line, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, errors.New("want a number")
		}
		return n, nil
	}
	return f.choose(line)
}

// choose takes a choice by its number, title or word.
func (f formField) choose(word string) (string, error) {
	choices := f.choices()
	if len(choices) == 0 {
		return word, nil
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1].Const, nil
	}
	for _, c := range choices {
		if word == c.Const || word == c.Title {
			return c.Const, nil
		}
	}
	return "", fmt.Errorf("want a number from 1 to %d, or the word itself", len(choices))
}

func parseYes(line string) (bool, error) {
	switch strings.ToLower(line) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return false, errors.New("want y or n")
}
