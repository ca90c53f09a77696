package loader

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/coretest"
)

// What the watcher read before an edit of ours must not take that edit back,
// and what it reads after it is known already.
func TestRule49_OurOwnWriteIsNeitherTakenBackNorAppliedTwice(t *testing.T) {
	p := core.Plugin[struct{}]{Name: "p", Apply: func(*core.Context, struct{}) error { return nil }}
	schema, err := NewSchema(p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent.yml")
	if err := os.WriteFile(path, []byte("plugins: {p: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	published := 0
	l, err := New(coretest.Host(t).Root(), Options{Schema: schema, Plugins: []core.AnyPlugin{p},
		Sources: config.Sources{File: path, Named: true}, Log: slog.New(slog.DiscardHandler),
		Publish: func(context.Context, *config.Document) { published++ }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := config.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Disable(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	read := map[string]*config.File{path: before}
	if err := l.changed(t.Context(), read, nil); err != errStale {
		t.Errorf("got %v, want the watcher to come again", err)
	}
	if !l.Document().Entry("p").Disabled {
		t.Error("the edit was taken back")
	}
	if read[path], err = config.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if err := l.changed(t.Context(), read, nil); err != nil {
		t.Error(err)
	}
	if published != 2 {
		t.Errorf("%d documents were published, want the first and our own edit, which is not read back", published)
	}
}

// What failed at the start is not started once more by the watcher's first
// look, and is by the next time that it is written.
func TestRule49_TheWatcherKnowsWhatFailedAtTheStart(t *testing.T) {
	broken := core.Plugin[struct{}]{Name: "p", Apply: func(*core.Context, struct{}) error { return errors.New("no luck") }}
	schema, err := NewSchema(broken)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent.yml")
	if err := os.WriteFile(path, []byte("plugins: {p: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := New(coretest.Host(t).Root(), Options{Schema: schema, Plugins: []core.AnyPlugin{broken},
		Sources: config.Sources{File: path, Named: true}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(t.Context()); err == nil {
		t.Fatal("want an error")
	}
	w := l.watcher()
	if w.Applied != l.Document().Fingerprint() || w.Failed == nil {
		t.Errorf("applied %q, failed %v", w.Applied, w.Failed)
	}
}
