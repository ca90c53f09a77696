package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/coretest"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// testFolder makes a root that holds files (name to content; a name that ends
// in a slash is a folder).
func testFolder(t testing.TB, files map[string]string) *folder {
	t.Helper()
	return testFolderWith(t, limits{ignore: []string{".git/"}, ignoreFrom: []string{".gitignore"}}, files)
}

func testFolderWith(t testing.TB, l limits, files map[string]string) *folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(dir, 0o755))
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(full, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(content), 0o644))
	}
	f, err := openFolder(dir, l)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *folder) abs(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

// content returns what a file holds, as the system sees it.
func (f *folder) content(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(f.abs(name))
	must(t, err)
	return string(data)
}

// wantError checks that err says each of parts.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func wantText(t testing.TB, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("got %q, want it to contain %q", got, part)
		}
	}
}
