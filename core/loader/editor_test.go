package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
)

// editorOf makes an editor over a project's file and one of the home folder.
func editorOf(t *testing.T, project, home string) loader.Editor {
	t.Helper()
	harmless := core.Plugin[probeConfig]{Name: "p", Harmless: true, Apply: func(*core.Context, probeConfig) error { return nil }}
	schema, err := loader.NewSchema(harmless)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := config.Sources{File: filepath.Join(dir, "agent.yml"), Home: filepath.Join(dir, "home.yml"), Named: true}
	for path, text := range map[string]string{src.File: project, src.Home: home} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return loader.Editor{Schema: schema, Sources: src}
}

func TestRule49_AnEditThatWouldNotLoadIsNotMadeAndSaysWhere(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"another option is misspelt": {"plugins: {p: {valu: x}}\n", ":1:15: plugins.p.valu: unknown key"},
		"the text is broken":         {"plugins:\n  p: [\n", ":3:1: not valid YAML"},
		"it is no text":              {"plugins: {}\n\x00", ":2:1: a NUL byte"},
		"there is no file":           {"", "agent.yml: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			e := editorOf(t, test.text, "")
			_, err := e.SetPolicy("a", "off")
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), e.Sources.File) {
				t.Errorf("got %v, want %q and the file's name", err, test.want)
			}
			if now, _ := os.ReadFile(e.Sources.File); string(now) != test.text {
				t.Errorf("the file is now %q", now)
			}
		})
	}
}

func TestAnEditMayMendTheFile(t *testing.T) {
	e := editorOf(t, "tools: {policy: {a: offf}}\n", "")
	doc, err := e.SetPolicy("a", "off")
	if err != nil || len(doc.Policy) != 1 {
		t.Errorf("got %+v, %v", doc, err)
	}
}

func TestAnEntryIsEditedInTheTopmostFileThatHasIt(t *testing.T) {
	e := editorOf(t, "plugins: {p: {}}\n", "plugins: {p: {}, p:mine: {}}\n")
	for _, id := range []string{"p", "p:mine"} {
		if _, err := e.SetEnabled(id, false); err != nil {
			t.Fatal(err)
		}
	}
	project, _ := os.ReadFile(e.Sources.File)
	home, _ := os.ReadFile(e.Sources.Home)
	if string(project) != "plugins: {~p: {}}\n" || string(home) != "plugins: {p: {}, ~p:mine: {}}\n" {
		t.Errorf("got %s and %s", project, home)
	}
	e = editorOf(t, "plugins: {p: {}}\n", "")
	if _, err := e.SetEnabled("pp", false); err == nil || err.Error() != `there is no entry "pp"` {
		t.Errorf("got %v", err)
	}
	e.Sources.Builtin = []byte("plugins: {p:inner: {}}")
	if _, err := e.SetEnabled("inner", false); err == nil || !strings.Contains(err.Error(), "is in no file") {
		t.Errorf("got %v", err)
	}
}

// What was trusted is never there untrusted, not even for a moment.
func TestE14_AnEditOfATrustedFileIsAcceptedBeforeItIsWritten(t *testing.T) {
	e := editorOf(t, "plugins: {p: {value: x}}\n", "")
	e.Sources.Named = false
	trusted := map[string]bool{}
	e.Sources.Trusted = func(_, sha256 string) bool { return trusted[sha256] }
	before, err := config.ReadFile(e.Sources.File)
	if err != nil {
		t.Fatal(err)
	}
	trusted[before.SHA256] = true
	e.Accept = func(_, after *config.File) error {
		if now, _ := config.ReadFile(e.Sources.File); now == nil || now.SHA256 != before.SHA256 {
			t.Error("it was written first")
		}
		trusted[after.SHA256] = true
		return nil
	}
	doc, err := e.SetPolicy("a", "auto")
	if err != nil || len(doc.LeftOut) > 0 || len(doc.Policy) != 1 {
		t.Errorf("got %+v, %v", doc, err)
	}
	e.Accept = func(_, _ *config.File) error { return errors.New("the store is full") }
	if _, err := e.SetPolicy("a", "off"); err == nil {
		t.Error("it was written without being accepted")
	}
	if text, _ := os.ReadFile(e.Sources.File); strings.Contains(string(text), "off") {
		t.Errorf("got %s", text)
	}
}

func TestRule49_AnEditSaysHowItsOwnEntryFares(t *testing.T) {
	b := newBench(t, "plugins: {~p:a: {fail: true}, ~p:b: {}, p:c: {}}")
	b.change("plugins: {~p:a: {fail: true}, ~p:b: {}, p:c: {fail: true}}", "no luck")
	if err := b.l.Enable(t.Context(), "b"); err != nil {
		t.Errorf("another entry fails: %v", err)
	}
	if err := b.l.Enable(t.Context(), "a"); err == nil || strings.Count(err.Error(), "no luck") != 1 {
		t.Errorf("got %v, want what is wrong with it alone", err)
	}
	if err := b.l.SetPolicy(t.Context(), "x", "off"); err != nil {
		t.Errorf("the policy holds, whatever fails: %v", err)
	}
}
