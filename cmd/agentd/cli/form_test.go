package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
)

const anyForm = `{"type":"object","required":["name","zip"],"properties":{
	"zip":   {"type":"integer"},
	"name":  {"type":"string","description":"Your\u200b name"},
	"score": {"type":"number","default":9.5},
	"ok":    {"type":"boolean"},
	"color": {"type":"string","enum":["red","blue"]},
	"size":  {"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"days":  {"type":"array","items":{"type":"string","enum":["mo","tu"]}},
	"tags":  {"type":"array","items":{"anyOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]}}
}}`

func TestAsker_Forms(t *testing.T) {
	for name, tc := range map[string]struct {
		lines []string
		end   error
		want  core.Reply
	}{
		"everything": {
			lines: []string{"123", "Ada", "1.5", "y", "2", "Large", "mo, 2", "First,b"},
			want:  core.Reply{Data: json.RawMessage(`{"color":"blue","days":["mo","tu"],"name":"Ada","ok":true,"score":1.5,"size":"l","tags":["a","b"],"zip":123}`)},
		},
		"what may be left out": {
			lines: []string{"123", "Ada", "", "", "", "", "", ""},
			want:  core.Reply{Data: json.RawMessage(`{"name":"Ada","zip":123}`)},
		},
		"mistakes are said": {
			lines: []string{"1.5", "12x", "1", "Ada", "many", "NaN", "-inf", "2", "maybe", "no", "green", "red", "9", "s", "mo,we", "mo", "x", "b"},
			want:  core.Reply{Data: json.RawMessage(`{"color":"red","days":["mo"],"name":"Ada","ok":false,"score":2,"size":"s","tags":["b"],"zip":1}`)},
		},
		"nothing for what must be":   {lines: []string{"123", ""}, want: core.Reply{Declined: true}},
		"a person who left":          {lines: []string{"123"}, end: io.EOF, want: core.Reply{Declined: true}},
		"who left what may be empty": {lines: []string{"123", "Ada"}, end: io.EOF, want: core.Reply{Declined: true}},
		"a person who left at once":  {end: io.EOF, want: core.Reply{Declined: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			lines := &scriptLines{lines: tc.lines, end: tc.end}
			got, err := (&terminalAsker{lines: lines, out: &out}).Question(t.Context(), core.Question{From: "f", Text: "Please", Schema: json.RawMessage(anyForm)})
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			if len(lines.lines) != 0 {
				t.Errorf("not read: %q", lines.lines)
			}
		})
	}
}

func TestAsker_AFormSaysWhatItWants(t *testing.T) {
	var out bytes.Buffer
	a := &terminalAsker{lines: &scriptLines{lines: []string{"1.5", "1", "Ada", "", "", "", "", "", ""}}, out: &out}
	if _, err := a.Question(t.Context(), core.Question{From: "f", Text: "Please", Schema: json.RawMessage(anyForm)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"zip (integer)\nwant a whole number", "Your⟨U+200B⟩ name (text)", "score (number; empty: 9.5)", "ok (y or n; may be empty)",
		"color (one; may be empty)\n  1 │ red\n  2 │ blue\n", "1 │ Small\n  2 │ Large\n", "days (some, with commas between; may be empty)\n  1 │ mo",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("asked:\n%s\nwant %q", out.String(), want)
		}
	}
}

func TestAsker_AFormWithoutFieldsIsAYesOrNo(t *testing.T) {
	for line, want := range map[string]core.Reply{
		"y": {Data: json.RawMessage(`{}`)}, "no": {Declined: true}, "": {Declined: true}, "what?": {Declined: true},
	} {
		a := &terminalAsker{lines: &scriptLines{lines: []string{line}}, out: io.Discard}
		got, err := a.Question(t.Context(), core.Question{Text: "Sure?", Schema: json.RawMessage(`{"type":"object"}`)})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", line, err, diff)
		}
	}
}

func TestAsker_AFormThatIsSettledElsewhere(t *testing.T) {
	settled := errors.New("settled elsewhere")
	ctx, cancel := context.WithCancelCause(t.Context())
	lines := &scriptLines{lines: []string{"123", "Ada"}}
	a := &terminalAsker{lines: &endingLines{lines, func() { cancel(settled) }}, out: io.Discard}
	if _, err := a.Question(ctx, core.Question{Text: "?", Schema: json.RawMessage(anyForm)}); !errors.Is(err, settled) {
		t.Errorf("error is %v", err)
	}
}

// endingLines ends the question after a line was read.
type endingLines struct {
	*scriptLines
	end func()
}

func (e *endingLines) readLine(ctx context.Context, prompt string) (string, error) {
	defer e.end()
	return e.scriptLines.readLine(ctx, prompt)
}

func TestReadForm_Wrong(t *testing.T) {
	for _, schema := range []string{`7`, `{"properties":[]}`, `{"properties":{"a":{"enum":7}}}`} {
		if f, err := readForm(json.RawMessage(schema)); err == nil {
			t.Errorf("%s is the form %v", schema, f)
		}
	}
}
