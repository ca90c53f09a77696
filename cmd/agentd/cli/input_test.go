package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadUntil_GivesAllThatComesUntilTheContextEnds(t *testing.T) {
	long := strings.Repeat("a line of text\n", 10_000)
	text, err := io.ReadAll(readUntil(t.Context(), strings.NewReader(long)))
	if err != nil || string(text) != long {
		t.Errorf("%d bytes of %d, %v", len(text), len(long), err)
	}
	cause := errors.New("turned away")
	ctx, cancel := context.WithCancelCause(t.Context())
	in, typing := io.Pipe()
	defer typing.Close()
	r := readUntil(ctx, in)
	typing.Write([]byte("one\ntw")) //nolint:errcheck // read below
	first := make([]byte, 6)
	if _, err := io.ReadFull(r, first); err != nil || !bytes.Equal(first, []byte("one\ntw")) {
		t.Fatalf("%q, %v", first, err)
	}
	cancel(cause)
	if n, err := r.Read(first); n > 0 || !errors.Is(err, cause) {
		t.Errorf("after the end: %d bytes, %v", n, err)
	}
}

// What was being typed when the context ended is no message.
func TestEachLine_TakesNoLineThatWasCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in := io.MultiReader(strings.NewReader("run_comm"), readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, ctx.Err()
	}))
	talk := &conversation{} // a turn would need a host
	if err := talk.eachLine(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
