package loader

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/coretest"
)

// What the watcher read before an edit of ours must not take that edit back.
func TestRule49_WhatWasReadBeforeAnEditIsNotApplied(t *testing.T) {
	p := core.Plugin[struct{}]{Name: "p", Apply: func(*core.Context, struct{}) error { return nil }}
	schema, err := NewSchema(p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent.yml")
	if err := os.WriteFile(path, []byte("plugins: {p: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := New(coretest.Host(t).Root(), Options{Schema: schema, Plugins: []core.AnyPlugin{p},
		Sources: config.Sources{File: path, Named: true}, Log: slog.New(slog.DiscardHandler)})
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
}
