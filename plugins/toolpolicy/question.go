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

// longName is the longest name of an argument that stands before its value.
const longName = 64

// ShowApproval returns the question as text for a terminal, without the
// choices. Everything in it is visible as by [Visible]; what comes from the
// call stands behind a gutter or in quotes, so that no argument can pass for
// the question itself. Long arguments are cut, with their length and with
// more, which says how to see all, such as "e shows everything". No more:
// every character is shown.
func ShowApproval(a core.Approval, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s wants to run (%s", VisibleLine(a.Tool), a.Effect.Or())
	if a.Source.Name != "" {
		fmt.Fprintf(&b, ", from %s %s", a.Source.Kind, VisibleLine(a.Source.Name))
	}
	b.WriteString(")\n")
	showArguments(&b, a.Args, more)
	for _, p := range a.Permissions {
		if p.Target != "" {
			showValue(&b, "needs "+VisibleLine(p.Name), p.Target, more)
		}
	}
	showValue(&b, "reason", a.Reason, more)
	showValue(&b, "rule", a.Rule, more)
	showValue(&b, "agent", a.Agent, more)
	return b.String()
}

// ownNames are what ShowApproval calls its own rows.
var ownNames = []string{"arguments", "reason", "rule", "agent"}

// showArguments writes each argument under its name, or what there is when
// that is no object.
func showArguments(b *strings.Builder, args json.RawMessage, more string) {
	trimmed := bytes.TrimSpace(args)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		trimmed = []byte("{}")
	}
	v, err := decodeOrdered(trimmed)
	obj, ok := v.(object)
	if err != nil || !ok {
		showValue(b, "arguments", string(args), more)
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
		if utf8.RuneCountInString(f.key) > longName {
			showValue(b, "an argument's name", f.key, more)
			showValue(b, "its value", text, more)
			continue
		}
		showValue(b, argumentName(f.key), text, more)
	}
}

// argumentName is a name as it is if it is a plain one, and none of
// ShowApproval's own; else it stands in quotes.
func argumentName(key string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.$", r)
	}
	own := slices.ContainsFunc(ownNames, func(name string) bool { return strings.EqualFold(name, key) })
	if key != "" && !own && !strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		return key
	}
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "│", "⟨U+2502⟩").Replace(VisibleLine(key)) + `"`
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
func showValue(b *strings.Builder, name, value, more string) {
	if value == "" {
		return
	}
	shown, wasCut := value, false
	if more != "" {
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
		fmt.Fprintf(b, "    … cut: %d characters in %d lines altogether; %s\n",
			utf8.RuneCountInString(value), strings.Count(value, "\n")+1, more)
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
	name := map[core.AnswerKind]string{}
	for _, k := range answerKeys {
		name[k.kind] = k.key
		if slices.Contains(a.Answers, k.kind) {
			keys = append(keys, k.key+" "+k.says)
		}
	}
	lines := append([]string{strings.Join(append(keys, "e everything"), " · ")}, keptAnswers(a, name)...)
	return strings.Join(append(lines, "words after the key go to the model: n use the test folder"), "\n  ")
}

// AnswerWords is AnswerPrompt by the names of the answers, for people who
// answer from elsewhere.
func AnswerWords(a core.Approval) string {
	var words []string
	name := map[core.AnswerKind]string{}
	for _, k := range answerKeys {
		name[k.kind] = string(k.kind)
		if slices.Contains(a.Answers, k.kind) {
			words = append(words, string(k.kind))
		}
	}
	lines := append([]string{strings.Join(words, " · ")}, keptAnswers(a, name)...)
	return strings.Join(lines, "\n  ")
}

// keptAnswers says of the answers that outlive the question what they speak
// of, and which are saved where.
func keptAnswers(a core.Approval, name map[core.AnswerKind]string) []string {
	var kept, saved []string
	for _, k := range []core.AnswerKind{core.AnswerTurn, core.AnswerSession, core.AnswerAlways, core.AnswerNever} {
		if !slices.Contains(a.Answers, k) {
			continue
		}
		kept = append(kept, name[k])
		if k == core.AnswerAlways || k == core.AnswerNever {
			saved = append(saved, name[k])
		}
	}
	var lines []string
	if len(kept) > 0 {
		var covered []string
		for _, s := range grantScopes(a) {
			covered = append(covered, VisibleLine(s.String()))
		}
		lines = append(lines, "covered by "+enumerated(kept)+": "+strings.Join(covered, ", "))
	}
	if len(saved) > 0 && a.Saved != "" {
		lines = append(lines, "saved by "+enumerated(saved)+" in "+VisibleLine(a.Saved))
	}
	return lines
}

func enumerated(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
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
