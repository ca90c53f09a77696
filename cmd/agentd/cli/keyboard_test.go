package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

// typing is a keyboard whose keys a test presses; it has no goroutine.
func typing() *keyboard {
	return &keyboard{more: make(chan struct{}), ctx: context.Background(), interrupt: func() {}}
}

func reads(t *testing.T, k *keyboard) string {
	t.Helper()
	buf := make([]byte, 100)
	n, err := k.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestKeyboard_GivesOneLineAtATime(t *testing.T) {
	k := typing()
	k.take([]byte("one\rtwo\nthr"), false)
	for _, want := range []string{"one\r", "two\n", "thr"} {
		if got := reads(t, k); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKeyboard_CtrlCDropsWhatWasTypedAndIsCounted(t *testing.T) {
	k := typing()
	k.take([]byte("before"), false)
	if n := k.take([]byte("mo\x03re\x03after"), false); n != 2 {
		t.Errorf("%d interrupts, want 2", n)
	}
	if got, want := reads(t, k), string([]byte{ctrlE, ctrlU})+"after"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKeyboard_SetAsideAnswersNothingAndComesBackFirst(t *testing.T) {
	k := typing()
	k.take([]byte("ahead\r"), false)
	aside := k.setAside()
	k.take([]byte("answer\r"), false)
	if got := reads(t, k); got != "answer\r" {
		t.Errorf("the question got %q", got)
	}
	k.take([]byte("later"), false)
	k.putBack(aside)
	for _, want := range []string{"ahead\r", "later"} {
		if got := reads(t, k); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKeyboard_ListenersEndSweepsOnceThenFails(t *testing.T) {
	k := typing()
	ctx, cancel := context.WithCancel(t.Context())
	k.listen(ctx)
	k.take([]byte("kept"), false)
	cancel()
	if got := reads(t, k); got != string(rune(sweep)) {
		t.Errorf("got %q, want the key that sweeps", got)
	}
	if _, err := k.Read(make([]byte, 10)); !errors.Is(err, errLineEnded) {
		t.Errorf("got %v, want %v", err, errLineEnded)
	}
	k.listen(t.Context())
	if got := reads(t, k); got != "kept" {
		t.Errorf("the next listener got %q", got)
	}
}

func TestKeyboard_EndOfInputComesAfterTheKeys(t *testing.T) {
	k := typing()
	k.take([]byte("last"), true)
	if got := reads(t, k); got != "last" {
		t.Errorf("got %q", got)
	}
	if _, err := k.Read(make([]byte, 10)); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
}

func TestKeyboard_BoundsWhatWaits(t *testing.T) {
	k := typing()
	k.take(bytes.Repeat([]byte("x"), maxAway), false)
	k.take([]byte("more"), false)
	if n := len(k.setAside()); n != maxAway {
		t.Errorf("%d bytes wait, want %d", n, maxAway)
	}
}
