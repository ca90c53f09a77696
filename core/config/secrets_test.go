package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentd-host/agentd/core/config"
)

func TestE26_TheDocumentKnowsWhatCameFromVariables(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("key", "from-a-file-4711\n")
	path := write("agent.yml", `plugins: {agent: {model: "${TOKEN}${SHORT}${HOME}${MISSING:-a-fallback-value}${file:key}"}}`)
	for _, named := range []bool{true, false} {
		doc, err := newSchema(t).Load(config.Sources{File: path, Named: named,
			Environ: []string{"TOKEN=from-the-environment", "SHORT=abc", "HOME=/home/somebody"}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"from-the-environment", "from-a-file-4711"}
		if !named {
			want = nil // nothing was read for a file that nobody trusted
		}
		if !slices.Equal(doc.Secrets, want) {
			t.Errorf("named %v: got %q, want %q", named, doc.Secrets, want)
		}
	}
}
