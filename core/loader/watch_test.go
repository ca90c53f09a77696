package loader_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core/config"
)

// follow runs the loader's watcher until the test ends. It returns a function
// that waits for a line of the diary; how long that takes is up to the machine.
func (b *bench) follow(t *testing.T) (wait func(line string)) {
	t.Helper()
	lines := make(chan string, 1000)
	b.hook(func(line string) { lines <- line })
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { b.l.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return func(line string) {
		t.Helper()
		patience := time.After(time.Minute)
		for {
			select {
			case got := <-lines:
				if got == line {
					return
				}
			case <-patience:
				t.Fatalf("%q never came", line)
			}
		}
	}
}

func quick() config.Watcher {
	return config.Watcher{Debounce: time.Millisecond, Retry: time.Millisecond, Poll: 5 * time.Millisecond, Settle: 5 * time.Millisecond}
}

func TestRule50_TheHostFollowsTheFile(t *testing.T) {
	b := newBenchWith(t, "plugins: {p:a: {value: one}}", quick())
	wait := b.follow(t)
	b.save("plugins: {p:a: {value: two}}")
	wait("+ p:a=two")
	b.save("") // L21, L32
	b.save("plugins: {p:a: {value: three}}")
	wait("+ p:a=three")
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	b.save("plugins: {p:a: {value: four}}")
	wait("+ p:a=four")
	before := b.uids("a")
	b.save("plugins: {p:a: {value: four}}\n# a comment")
	wait("publish")
	b.same(before, b.uids("a"), "a comment")
}

func TestL21_AnEmptyFileStopsNothing(t *testing.T) {
	b := newBenchWith(t, "plugins: {p:a: {value: one}}", quick())
	wait := b.follow(t)
	before := b.uids("a")
	b.save("")
	wait("refused")
	if e := b.entry("a"); e.State != "active" || e.UID != before[0] {
		t.Errorf("a = %+v", e)
	}
	if err := b.l.Status().Err; !strings.Contains(err.Error(), "the file is empty") {
		t.Errorf("got %v", err)
	}
	b.save("plugins: {p:a: {value: two}}")
	wait("+ p:a=two")
}

func TestRule49_BytesThatFailedAreTriedWhenWrittenAgain(t *testing.T) {
	b := newBenchWith(t, "plugins: {p:a: {value: one}}", quick())
	if err := b.take(9, "somebody else"); err != nil {
		t.Fatal(err)
	}
	wait := b.follow(t)
	const text = "plugins: {p:a: {value: two, port: 9}}"
	b.save(text)
	wait("! p:a")
	wait("+ p:a=one")
	b.free(9)
	b.save(text)
	wait("+ p:a=two")
}
