package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// world stands in for the file system in tests of the loop.
type world struct {
	events chan fsnotify.Event
	start  time.Time

	mu      sync.Mutex // guards the fields below
	content string
	err     error
	stat    int // changes with what look sees
	refuse  error
	slow    time.Duration
	log     []string
}

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%v %s", time.Since(w.start), fmt.Sprintf(format, args...)))
}

// set changes the world.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// save changes the content and tells of it.
func (w *world) save(content string) {
	w.set(func() { w.content = content; w.stat++ })
	w.events <- fsnotify.Event{Name: "x", Op: fsnotify.Write}
	synctest.Wait()
}

// follow runs a loop over a world until the test ends, after the first read.
func follow(t *testing.T, f func(w *world)) { t.Helper(); followAfter(t, "", f) }

// followAfter does so after what is in force has failed once, unless before is
// empty.
func followAfter(t *testing.T, before string, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{events: make(chan fsnotify.Event), content: "first", start: time.Now()}
		watcher := &Watcher{Files: []Watched{{Path: "a"}}, Log: slog.New(slog.DiscardHandler)}
		watcher.defaults()
		watcher.Changed = func(_ context.Context, files map[string]*File, err error) error {
			if err != nil {
				w.say("error %v", err)
				return nil
			}
			content := files["a"].Bytes
			var slow time.Duration
			var refuse error
			w.set(func() { slow, refuse = w.slow, w.refuse })
			time.Sleep(slow) // virtual time: an apply that takes long
			w.say("%s", content)
			return refuse
		}
		l := &watchLoop{w: watcher, before: before, events: w.events,
			look: func() string {
				w.mu.Lock()
				defer w.mu.Unlock()
				return fmt.Sprint(w.stat)
			}, refresh: func() {},
			relevant: func(fsnotify.Event) bool { return true },
			read: func(context.Context) (map[string]*File, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.err != nil {
					return nil, w.err
				}
				return map[string]*File{"a": newFile("a", []byte(w.content), nil)}, nil
			},
			applied: fingerprintOf(watcher.Files, map[string]*File{"a": newFile("a", []byte("first"), nil)})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.run(ctx) }()
		synctest.Wait()
		f(w)
		cancel()
		<-done
	})
}

func (w *world) want(t *testing.T, log ...string) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := cmp.Diff(log, w.log); d != "" {
		t.Error(d)
	}
	w.log = nil
}

func TestRule50_ABurstIsOneReload(t *testing.T) {
	follow(t, func(w *world) {
		w.want(t) // what is in force already is no change
		for i := range 5 {
			w.save(fmt.Sprint(i))
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second)
		w.want(t, "300ms 4")
	})
}

func TestRule50_WithoutAPauseItIsReadAfterASecond(t *testing.T) {
	follow(t, func(w *world) {
		for i := range 1500 { // close to 500 writes a second
			w.save(fmt.Sprint(i))
			time.Sleep(2100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.log) < 3 || len(w.log) > 4 {
			t.Errorf("%d reloads in three seconds of writing: %v", len(w.log), w.log)
		}
		if last := w.log[len(w.log)-1]; last != "3.2479s 1499" {
			t.Errorf("the last reload was %s", last)
		}
	})
}

func TestRule50_ASaveDuringASlowReloadComesAfterIt(t *testing.T) {
	follow(t, func(w *world) {
		w.set(func() { w.slow = 3 * time.Second })
		w.save("a")
		time.Sleep(200 * time.Millisecond)
		w.save("b")
		w.save("c")
		time.Sleep(10 * time.Second)
		w.want(t, "3.1s a", "6.1s c")
	})
}

func TestRule50_EqualBytesAreNoChange(t *testing.T) {
	follow(t, func(w *world) {
		w.save("a")
		time.Sleep(time.Second)
		w.want(t, "100ms a")
		w.save("a")
		time.Sleep(time.Second)
		w.want(t)
	})
}

func TestRule49_BytesThatFailedAreTriedWhenWrittenAgain(t *testing.T) {
	follow(t, func(w *world) {
		w.set(func() { w.refuse = errors.New("no") })
		w.save("a")
		time.Sleep(10 * time.Second)
		w.want(t, "100ms a") // and not at each poll
		w.save("a")
		time.Sleep(time.Second)
		w.want(t, "10.1s a")
		w.set(func() { w.refuse = nil })
		w.save("first") // back to what is in force: heard, so that the error can go
		time.Sleep(time.Second)
		w.want(t, "11.1s first")
	})
}

func TestRule49_WhatFailedBeforeIsTriedWhenWrittenAgainAndNotAtTheFirstLook(t *testing.T) {
	followAfter(t, "no", func(w *world) {
		time.Sleep(10 * time.Second)
		w.want(t)
		w.save("first")
		time.Sleep(time.Second)
		w.want(t, "10.1s first")
		w.save("first") // it worked
		time.Sleep(time.Second)
		w.want(t)
	})
}

func TestRule50_L29_PollingSeesWhatNobodyTold(t *testing.T) {
	follow(t, func(w *world) {
		time.Sleep(500 * time.Millisecond)
		w.set(func() { w.content, w.stat = "a", 1 })
		time.Sleep(5 * time.Second)
		w.want(t, "2.1s a")
	})
}

func TestL21_AnUnreadableFileIsOneErrorUntilItIsBack(t *testing.T) {
	follow(t, func(w *world) {
		w.set(func() { w.err = errors.New("empty") })
		w.save("")
		time.Sleep(time.Minute)
		w.want(t, "100ms error empty")
		w.set(func() { w.err = nil })
		w.save("first")
		time.Sleep(5 * time.Second)
		w.want(t, "1m0.1s first")
	})
}

// A file that is closed after its last write makes no further event.
func TestRule50_AnUnfinishedFileIsLookedAtAgain(t *testing.T) {
	follow(t, func(w *world) {
		w.set(func() { w.err = errUnfinished })
		w.save("a")
		time.Sleep(time.Second)
		w.want(t, "100ms error "+errUnfinished.Error())
		w.set(func() { w.err = nil })
		time.Sleep(5 * time.Second)
		w.want(t, "2.1s a")
	})
}
