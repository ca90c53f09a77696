package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The README's plugin is the one that compiles and runs as an example, and
// every direct dependency stands in its table.
func TestREADMEAgreesWithTheCode(t *testing.T) {
	readme := readFile(t, "../../../README.md")
	example := readFile(t, "../../../core/weather_example_test.go")
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1) {
		if code := strings.TrimSpace(block[1]); strings.Contains(code, "core.Plugin[") && !strings.Contains(example, code) {
			t.Errorf("the README's plugin is not that of core/weather_example_test.go:\n%s", code)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(readFile(t, "../../../go.mod"), -1) {
		if name := regexp.MustCompile(`/(v\d+|providers/.*)$`).ReplaceAllString(m[1], ""); !strings.Contains(readme, name) {
			t.Errorf("the README's table of dependencies lacks %s", m[1])
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
