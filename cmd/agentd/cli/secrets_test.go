package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
)

func TestE26_ALogRecordHoldsNoSecretOfWhateverKind(t *testing.T) {
	const canary = "canary\"4711\\x"
	var known secrets
	known.add([]string{canary})
	for _, make := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var out bytes.Buffer
		log := slog.New(redactingLog{make(&out), &known}).With("with", canary).WithGroup("g")
		log.Error("said "+canary, "text", canary, "err", fmt.Errorf("open %q", canary), "list", []string{canary},
			slog.Group("in", "here", canary), "n", 1)
		if strings.Contains(out.String(), "4711") || strings.Count(out.String(), redactedText) != 6 {
			t.Errorf("got %s", out.String())
		}
	}
}

func TestE26_AnErrorLosesItsSecretAndNothingElse(t *testing.T) {
	var s secrets
	plain := errors.New("canary-4711")
	if s.err(plain) != plain {
		t.Error("nothing is secret yet")
	}
	s.add([]string{"canary-4711", "canary-4711-longer"})
	s.add([]string{"another-secret"})
	err := s.err(fmt.Errorf("canary-4711-longer and canary-4711: %w", fs.ErrNotExist))
	if err.Error() != "[redacted] and [redacted]: "+fs.ErrNotExist.Error() || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A path is needed to mend what is wrong with it.
func TestPathsThatAreThereAreNoSecrets(t *testing.T) {
	dir := t.TempDir()
	var s secrets
	s.add([]string{dir, "/no/such/secret"})
	if got := s.redact(dir + " /no/such/secret"); got != dir+" [redacted]" {
		t.Errorf("got %s", got)
	}
}
