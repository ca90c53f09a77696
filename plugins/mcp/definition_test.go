package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/google/go-cmp/cmp"
)

func TestRule7_OneBadToolDoesNotPoisonTheList(t *testing.T) {
	defs, problems := readDefinitions([]json.RawMessage{
		[]byte(`{"name":"a","description":null,"title":7,"annotations":"x","inputSchema":null}`),
		[]byte(`null`), []byte(`"x"`), []byte(`{"name":""}`), []byte(`{"name":3}`), []byte(`{}`),
		[]byte(`{"name":"b","annotations":{"readOnlyHint":true,"title":"B"}}`),
		[]byte(`{"name":"a"}`),
		[]byte(`{"name":"` + strings.Repeat("n", 2000) + `"}`),
	})
	var names []string
	for _, d := range defs {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 7 {
		t.Errorf("%d problems: %q", len(problems), problems)
	}
	if b := defs[1]; b.Title != "B" || b.Annotations.ReadOnly == nil || !*b.Annotations.ReadOnly {
		t.Errorf("b = %+v", b)
	}
}

func TestE19_TheHashCoversWhatMatters(t *testing.T) {
	base := `{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{},"y":{}}},"annotations":{"readOnlyHint":true}}`
	hash := func(raw string) string {
		t.Helper()
		d, err := readDefinition(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return d.Hash
	}
	for name, same := range map[string]string{
		"order and blanks": `{ "annotations":{"readOnlyHint":true}, "inputSchema":{"properties":{"y":{},"x":{}},"type":"object"},"description":"d","name":"a"}`,
		"other fields":     strings.Replace(base, `"name"`, `"_meta":{"t":1},"icons":[],"name"`, 1),
	} {
		if hash(same) != hash(base) {
			t.Errorf("%s change the hash", name)
		}
	}
	for name, other := range map[string]string{
		"description": strings.Replace(base, `"d"`, `"e"`, 1),
		"schema":      strings.Replace(base, `"y"`, `"z"`, 1),
		"annotation":  strings.Replace(base, `true`, `false`, 1),
		"title":       strings.Replace(base, `"name"`, `"title":"T","name"`, 1),
		"output":      strings.Replace(base, `"name"`, `"outputSchema":{},"name"`, 1),
		"zero width":  strings.Replace(base, `"d"`, "\"d\u200B\"", 1),
	} {
		if hash(other) == hash(base) {
			t.Errorf("a change of the %s keeps the hash", name)
		}
	}
}

func TestM46_InvisibleCharactersAreCounted(t *testing.T) {
	for in, want := range map[string]int{
		"plain\ttext\n":        0,
		"héllo 日本 ❤️":          0,
		"zero\u200Bwidth":      1,
		"\u202Ertl\u202C":      2,
		"tag\U000E0041\u00AD!": 2,
	} {
		if got := countHidden(in); got != want {
			t.Errorf("countHidden(%+q) = %d, want %d", in, got, want)
		}
	}
	d, err := readDefinition(json.RawMessage(`{"name":"a","inputSchema":{"properties":{"x":{"description":"\u200b\u200b"}}}}`))
	if err != nil || d.Hidden != 2 {
		t.Errorf("hidden = %d, %v", d.Hidden, err)
	}
	if got := visible("a\u200Bb"); got != "a<U+200B>b" {
		t.Errorf("visible = %q", got)
	}
}

func TestM26_CursorsThatDoNotAdvance(t *testing.T) {
	for name, tt := range map[string]struct {
		next  func(n int, cursor string) string
		pages int
		warn  string
	}{
		"three pages":     {func(n int, _ string) string { return []string{"a", "b", ""}[n] }, 3, ""},
		"the same again":  {func(int, string) string { return "x" }, 2, "does not end"},
		"a circle":        {func(n int, _ string) string { return []string{"a", "b"}[n%2] }, 3, "does not end"},
		"new ones always": {func(n int, _ string) string { return fmt.Sprint(n) }, maxPages, "was cut after 500 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			got, warning, err := fetchPages(t.Context(), "tools", func(_ context.Context, cursor string) (json.RawMessage, error) {
				next := tt.next(n, cursor)
				n++
				return json.Marshal(map[string]any{"tools": []int{n}, "nextCursor": next})
			})
			if err != nil || n != tt.pages || len(got) != tt.pages {
				t.Errorf("%d pages, %d entries, %v; want %d", n, len(got), err, tt.pages)
			}
			if (warning != "") != (tt.warn != "") || !strings.Contains(warning, tt.warn) {
				t.Errorf("warning %q, want %q", warning, tt.warn)
			}
		})
	}
}

func TestM26_OddPages(t *testing.T) {
	for in, want := range map[string]string{
		`{"tools":[]}`:                         "",
		`{"tools":null}`:                       "",
		`{}`:                                   "",
		`{"tools":[1],"nextCursor":null}`:      "",
		`{"tools":[1],"nextCursor":{"odd":1}}`: "",
		`{"tools":"x"}`:                        "tools is not a list",
		`[]`:                                   "not an object",
	} {
		_, _, err := fetchPages(t.Context(), "tools", func(context.Context, string) (json.RawMessage, error) {
			return json.RawMessage(in), nil
		})
		if (err != nil) != (want != "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("page %s: %v, want %q", in, err, want)
		}
	}
}

func TestM32_EveryBlockArrives(t *testing.T) {
	raw := `{"content":[{"type":"text","text":"t"},{"type":"image","data":"aGk=","mimeType":"image/png"},
		{"type":"audio","data":"aGk=","mimeType":"audio/wav"},
		{"type":"resource","resource":{"uri":"file:///a.pdf","blob":"aGk=","mimeType":"application/pdf"}},
		{"type":"resource_link","uri":"file:///b","name":"b"},{"type":"hologram","x":1},{"type":"text","text":5}],
		"structuredContent":{"image":"aGk="},"other":1}`
	r, err := readResult("x", json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []llm.PartKind
	for _, p := range r.Parts {
		kinds = append(kinds, p.Kind)
	}
	want := []llm.PartKind{llm.TextPart, llm.ImagePart, llm.AudioPart, llm.ResourcePart, llm.ResourcePart, llm.RawPart, llm.RawPart}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if string(r.Raw) != raw || string(r.Structured) != `{"image":"aGk="}` || string(r.Parts[3].Data) != "hi" {
		t.Errorf("result = %+v", r)
	}
	// M31: what is structured is not written into the text again.
	if strings.Contains(r.Text(), "aGk=") {
		t.Errorf("text = %q", r.Text())
	}
}

func TestM34_AnErrorStaysAnError(t *testing.T) {
	r, err := readResult("x", json.RawMessage(`{"content":[{"type":"text","text":"disk full"},{"type":"text","text":"try later"}],"isError":true}`))
	if err != nil || r.Err == nil || r.Err.Message != "disk full\ntry later" || len(r.Parts) != 2 {
		t.Errorf("result = %+v, %v", r, err)
	}
	if r, _ := readResult("x", json.RawMessage(`{"isError":true}`)); r.Err == nil || r.Err.Message == "" {
		t.Errorf("an error without content: %+v", r)
	}
	if r, _ := readResult("x", json.RawMessage(`{"structuredContent":[1]}`)); r.Text() != "[1]" {
		t.Errorf("structured only: %q", r.Text())
	}
	if _, err := readResult("x", json.RawMessage(`{"content":3}`)); err == nil {
		t.Error("content that is a number was accepted")
	}
}

func TestWithoutNulls(t *testing.T) {
	schema := `{"type":"object","required":["r"],"properties":{"r":{"type":"string"},"o":{"type":"string"},"n":{"type":["string","null"]},"a":{"anyOf":[{"type":"null"}]},"any":{}}}`
	for in, want := range map[string]string{
		`{"r":null,"o":null,"n":null,"a":null,"any":null,"new":null}`: `{"r":null,"n":null,"a":null,"any":null,"new":null}`,
		`{"o":"null"}`: `{"o":"null"}`,
		`null`:         `null`,
	} {
		if got := string(withoutNulls(json.RawMessage(in), json.RawMessage(schema))); got != want {
			t.Errorf("withoutNulls(%s) = %s, want %s", in, got, want)
		}
	}
}

// Two folders may each have a server of one name: they are not compared with
// each other. Pins that can't be read make every tool a new one.
func TestRule12_E19_PinsBelongToOneConfiguration(t *testing.T) {
	state := t.TempDir()
	read := func(description string) []*definition {
		defs, problems := readDefinitions([]json.RawMessage{json.RawMessage(`{"name":"a","description":"` + description + `"}`)})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return defs
	}
	check := func(config, description string) (pinState, error) {
		v, err := newPinStore(state, config, "files").check(read(description), time.Now())
		return v["a"].state, err
	}
	for _, step := range []struct {
		config, description string
		want                pinState
	}{{"/one", "reads", pinSame}, {"/two", "writes", pinSame}, {"/one", "reads", pinSame}, {"/one", "writes", pinChanged}, {"/two", "writes", pinSame}} {
		if got, err := check(step.config, step.description); got != step.want || err != nil {
			t.Errorf("%+v: state %d, %v", step, got, err)
		}
	}
	if err := os.WriteFile(newPinStore(state, "/one", "files").file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := check("/one", "reads"); got != pinNew || err == nil {
		t.Errorf("pins that can't be read: state %d, %v", got, err)
	}
}
