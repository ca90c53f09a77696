package toolpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core"
)

// How much of one argument the short form of a question shows.
const (
	shortRunes = 400
	shortLines = 8
)

// ShowApproval returns the question as text for a terminal, without the
// choices. Everything in it is visible as by [Visible]; what comes from the
// call stands behind a gutter, so that no argument can pass for the
// question itself. In the short form long arguments are cut, with their
// length and the way to see all; full shows every character.
func ShowApproval(a core.Approval, full bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s wants to run (%s", VisibleLine(a.Tool), a.Effect.Or())
	if a.Source.Name != "" {
		fmt.Fprintf(&b, ", from %s %s", a.Source.Kind, VisibleLine(a.Source.Name))
	}
	b.WriteString(")\n")
	showArguments(&b, a.Args, full)
	for _, p := range a.Permissions {
		if p.Target != "" {
			showValue(&b, "needs "+VisibleLine(p.Name), p.Target, full)
		}
	}
	showValue(&b, "reason", a.Reason, full)
	showValue(&b, "rule", a.Rule, full)
	showValue(&b, "agent", a.Agent, full)
	return b.String()
}

// showArguments writes each argument under its name, or what there is when
// that is no object.
func showArguments(b *strings.Builder, args json.RawMessage, full bool) {
	trimmed := bytes.TrimSpace(args)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		trimmed = []byte("{}")
	}
	v, err := decodeOrdered(trimmed)
	obj, ok := v.(object)
	if err != nil || !ok {
		showValue(b, "arguments", string(args), full)
		return
	}
	if len(obj) == 0 {
		b.WriteString("  no arguments\n")
	}
	for _, f := range obj {
		text, isText := f.value.(string)
		if !isText {
			text = indented(f.value)
		}
		if text == "" {
			text = `""`
		}
		showValue(b, VisibleLine(f.key), text, full)
	}
}

func indented(v any) string {
	var out bytes.Buffer
	raw := appendCanonical(nil, v)
	if len(raw) < 60 || json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// showValue writes a name and its value, each line behind a gutter.
func showValue(b *strings.Builder, name, value string, full bool) {
	if value == "" {
		return
	}
	shown, wasCut := value, false
	if !full {
		shown, wasCut = cut(value, shortRunes, shortLines)
	}
	shown = Visible(shown)
	if !strings.Contains(shown, "\n") {
		fmt.Fprintf(b, "  %s │ %s\n", name, shown)
	} else {
		fmt.Fprintf(b, "  %s\n", name)
		for line := range strings.SplitSeq(shown, "\n") {
			fmt.Fprintf(b, "    │ %s\n", line)
		}
	}
	if wasCut {
		fmt.Fprintf(b, "    … cut: %d characters in %d lines altogether; e shows everything\n",
			utf8.RuneCountInString(value), strings.Count(value, "\n")+1)
	}
}

// answerKeys are the keys of a terminal, in the order of the prompt. The
// case of a letter matters.
var answerKeys = []struct {
	key  string
	kind core.AnswerKind
	says string
}{
	{"y", core.AnswerOnce, "once"},
	{"t", core.AnswerTurn, "this turn"},
	{"s", core.AnswerSession, "this session"},
	{"a", core.AnswerAlways, "always"},
	{"n", core.AnswerReject, "no"},
	{"N", core.AnswerNever, "never"},
	{"x", core.AnswerStop, "stop"},
}

// AnswerPrompt returns the choices of a question as lines: which keys it
// takes, and for answers that are kept what exactly and where.
func AnswerPrompt(a core.Approval) string {
	var keys []string
	kept := false
	for _, k := range answerKeys {
		if !slices.Contains(a.Answers, k.kind) {
			continue
		}
		keys = append(keys, k.key+" "+k.says)
		kept = kept || k.kind != core.AnswerOnce && k.kind != core.AnswerReject && k.kind != core.AnswerStop
	}
	text := strings.Join(append(keys, "e everything"), " · ")
	if kept {
		text += "\n  what t, s, a and N speak of: " + VisibleLine(strings.Join(grantPatterns(a), ", "))
	}
	if a.Saved != "" && slices.Contains(a.Answers, core.AnswerAlways) {
		text += "\n  a and N are saved in " + VisibleLine(a.Saved)
	}
	return text + "\n  words after the key go to the model: n use the test folder"
}

// ParseAnswer reads what a person typed: a key, or the answer's whole name,
// and after it words for the model. An answer that the question does not
// take is an error that says which it takes.
func ParseAnswer(line string, a core.Approval) (core.Answer, error) {
	word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	kind := core.AnswerKind(word)
	for _, k := range answerKeys {
		if k.key == word {
			kind = k.kind
		}
	}
	switch word {
	case "yes":
		kind = core.AnswerOnce
	case "no":
		kind = core.AnswerReject
	}
	if !slices.Contains(a.Answers, kind) {
		return core.Answer{}, fmt.Errorf("want %s, got %q", wantedKeys(a), VisibleLine(word))
	}
	return core.Answer{Kind: kind, Text: strings.TrimSpace(text)}, nil
}

func wantedKeys(a core.Approval) string {
	var keys []string
	for _, k := range answerKeys {
		if slices.Contains(a.Answers, k.kind) {
			keys = append(keys, k.key+" ("+string(k.kind)+")")
		}
	}
	return strings.Join(keys, ", ")
}
