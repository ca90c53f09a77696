package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The skeleton of plugins new compiles, and its own tests pass.
func TestScaffold_CompilesAndItsTestsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command here")
	}
	s, err := newSkeleton("weather-report")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	// An overlay puts the package into this module, which has all that it
	// imports.
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for _, name := range []string{"weatherreport.go", "weatherreport_test.go"} {
		replace[filepath.Join(root, "plugins", "weatherreport", name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	// Compiled and run in two steps: a test starts in its package's folder,
	// which is there in the overlay only.
	binary := filepath.Join(dir, "weatherreport.test")
	build := exec.Command(goCommand, "test", "-c", "-vet=off", "-o", binary, "-overlay", file, "./plugins/weatherreport")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(binary, "-test.v")
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestGreet") {
		t.Fatalf("%v\n%s", err, out)
	}
}
