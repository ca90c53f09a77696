package stdio

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// What nobody logs is not searched for secrets: a server may write much.
func TestRule13_LinesAreRedactedWhereTheyAreLogged(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelDebug: 2, slog.LevelInfo: 0} {
		var out bytes.Buffer
		redacted := 0
		l := &lineLogger{
			log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})),
			redact: func(s string) string {
				redacted++
				return strings.ReplaceAll(s, "canary", "***")
			},
		}
		if _, err := l.Write([]byte("one canary\ntwo canary\nthe rest")); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "***"); redacted != want || lines != want || strings.Contains(out.String(), "canary") {
			t.Errorf("%s: redacted %d times, want %d: %s", level, redacted, want, &out)
		}
	}
}
