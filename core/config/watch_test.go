package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core/config"
)

// seen is one call of a watcher's Changed.
type seen struct {
	text string // the files' contents, joined
	err  error
}

// watch follows files until the test ends. It returns what the watcher saw;
// the present content counts as applied.
func watch(t *testing.T, w *config.Watcher) <-chan seen {
	t.Helper()
	out := make(chan seen, 10_000)
	w.Changed = func(_ context.Context, files map[string]*config.File, err error) error {
		var texts []string
		for _, f := range w.Files {
			if file := files[f.Path]; file != nil {
				texts = append(texts, string(file.Bytes))
			}
		}
		out <- seen{strings.Join(texts, "|"), err}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	// The first read is what was there: from now on notifications are on.
	expect(t, out, "")
	return out
}

// expect waits until the watcher sees a text; "" is any. It returns how often
// Changed was called. How long that takes is up to the machine.
func expect(t *testing.T, ch <-chan seen, text string) int {
	t.Helper()
	patience := time.After(time.Minute)
	for n := 1; ; n++ {
		select {
		case s := <-ch:
			if text == "" || s.err == nil && s.text == text {
				return n
			}
		case <-patience:
			t.Fatalf("%q was never seen", text)
		}
	}
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// must fails the test for whichever call failed.
func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestL26_L29_EveryWayToSaveIsSeen(t *testing.T) {
	patterns := map[string]func(t *testing.T, path, text string){
		"truncate and write": save,
		"write and rename": func(t *testing.T, path, text string) {
			save(t, path+".tmp", text)
			must(t, os.Rename(path+".tmp", path))
		},
		"vim": func(t *testing.T, path, text string) {
			save(t, filepath.Join(filepath.Dir(path), "4913"), "")
			must(t, os.Remove(filepath.Join(filepath.Dir(path), "4913")), os.Rename(path, path+"~"))
			save(t, path, text)
			must(t, os.Chmod(path, 0o600), os.Remove(path+"~"))
		},
		"VS Code": func(t *testing.T, path, text string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			must(t, err)
			_, err = f.WriteString(text)
			must(t, err, f.Sync(), f.Close())
		},
		"delete and recreate": func(t *testing.T, path, text string) {
			must(t, os.Remove(path))
			save(t, path, text)
		},
		"folder recreated": func(t *testing.T, path, text string) {
			must(t, os.RemoveAll(filepath.Dir(path)), os.Mkdir(filepath.Dir(path), 0o700))
			save(t, path, text)
		},
		"folder moved away": func(t *testing.T, path, text string) {
			must(t, os.Rename(filepath.Dir(path), fmt.Sprintf("%s.%s", filepath.Dir(path), text)), os.Mkdir(filepath.Dir(path), 0o700))
			save(t, path, text)
		},
		"half, a pause, the rest": func(t *testing.T, path, text string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
			must(t, err)
			_, err = f.WriteString(text[:1])
			must(t, err)
			_, err = f.WriteString(text[1:])
			must(t, err, f.Close())
		},
	}
	for name, change := range patterns {
		for _, pollOnly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, poll %v", name, pollOnly), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "conf", "agent.yml")
				must(t, os.Mkdir(filepath.Dir(path), 0o700))
				save(t, path, "zero")
				w := &config.Watcher{Files: []config.Watched{{Path: path}}, PollOnly: pollOnly,
					Debounce: 5 * time.Millisecond, Poll: time.Hour}
				if pollOnly {
					w.Poll = 5 * time.Millisecond
				}
				ch := watch(t, w)
				for i := range 3 {
					text := fmt.Sprintf("text %d", i)
					change(t, path, text)
					expect(t, ch, text)
				}
			})
		}
	}
}

func TestL27_ConfigMapsAreFollowedThroughTheirLinks(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "..1"), 0o700))
	save(t, filepath.Join(dir, "..1", "agent.yml"), "one")
	must(t, os.Symlink("..1", filepath.Join(dir, "..data")), os.Symlink("..data/agent.yml", filepath.Join(dir, "agent.yml")))
	outside := filepath.Join(t.TempDir(), "linked.yml")
	must(t, os.Symlink(filepath.Join(dir, "agent.yml"), outside))
	w := &config.Watcher{Files: []config.Watched{{Path: outside}}, Debounce: 5 * time.Millisecond, Poll: time.Hour}
	ch := watch(t, w)
	for i, text := range []string{"two", "three"} {
		version := fmt.Sprintf("..%d", i+2)
		must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		save(t, filepath.Join(dir, version, "agent.yml"), text)
		must(t, os.Symlink(version, filepath.Join(dir, "..tmp")), os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")),
			os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..%d", i+1))))
		expect(t, ch, text)
	}
	must(t, os.Remove(outside))
	save(t, outside, "a file now")
	expect(t, ch, "a file now")
}

func TestL34_ElevenFilesAtOnce(t *testing.T) {
	dir := t.TempDir()
	w := &config.Watcher{Debounce: 20 * time.Millisecond, Poll: time.Hour}
	var want []string
	for i := range 11 {
		path := filepath.Join(dir, fmt.Sprintf("%d.yml", i))
		save(t, path, "old")
		w.Files = append(w.Files, config.Watched{Path: path, Optional: i%2 == 0})
		want = append(want, fmt.Sprint("new ", i))
	}
	ch := watch(t, w)
	for i, f := range w.Files {
		save(t, f.Path, want[i])
	}
	expect(t, ch, strings.Join(want, "|"))
	for _, f := range w.Files {
		if f.Optional {
			must(t, os.Remove(f.Path))
		}
	}
	expect(t, ch, "new 1|new 3|new 5|new 7|new 9")
}

func TestL32_ATruncatedFileIsWaitedFor(t *testing.T) {
	path := write(t, "old")
	w := &config.Watcher{Files: []config.Watched{{Path: path}}, Debounce: time.Millisecond, Poll: time.Hour,
		Settle: time.Hour, Retry: time.Millisecond}
	ch := watch(t, w)
	for i := range 20 {
		text := fmt.Sprintf("new %d", i)
		save(t, path, "")
		save(t, path, text)
		if n := expect(t, ch, text); n > 1 {
			t.Errorf("%d calls for one save", n)
		}
	}
}

func TestRule50_AWriterThatHoldsTheFileIsWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux tells who has a file open")
	}
	path := write(t, "old")
	w := &config.Watcher{Files: []config.Watched{{Path: path}}, Debounce: time.Millisecond, Poll: 5 * time.Millisecond,
		Settle: time.Millisecond, Retry: time.Millisecond}
	ch := watch(t, w)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("new")
	must(t, err)
	if s := <-ch; s.err == nil || !strings.Contains(s.err.Error(), "open for writing") {
		t.Errorf("got %q, %v", s.text, s.err)
	}
	must(t, f.Close())
	expect(t, ch, "new")
}

func TestRule50_AChangeOfTheModeAloneIsNone(t *testing.T) {
	path := write(t, "old")
	ch := watch(t, &config.Watcher{Files: []config.Watched{{Path: path}}, Debounce: time.Millisecond, Poll: time.Hour})
	must(t, os.Chmod(path, 0o640))
	save(t, path, "new")
	if n := expect(t, ch, "new"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestRule50_FiveHundredWritesASecond(t *testing.T) {
	path := write(t, "old")
	ch := watch(t, &config.Watcher{Files: []config.Watched{{Path: path}}, Poll: time.Hour})
	for i := range 500 {
		save(t, path, fmt.Sprint("write ", i))
	}
	expect(t, ch, "write 499") // how often it is read meanwhile is a test of the loop
}

func TestL31_NoInstanceIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts the descriptors of linux")
	}
	count := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		for _, e := range entries {
			if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.Contains(to, "inotify") {
				n++
			}
		}
		return n
	}
	before := count()
	path := write(t, "old")
	for range 20 {
		w := &config.Watcher{Files: []config.Watched{{Path: path}}}
		ctx, cancel := context.WithCancel(t.Context())
		w.Changed = func(context.Context, map[string]*config.File, error) error { cancel(); return nil }
		w.Run(ctx)
		cancel()
	}
	if after := count(); after > before {
		t.Errorf("%d notification instances before, %d after", before, after)
	}
}

func TestSpotsFollowLinksAsTheKernelDoes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.Mkdir(filepath.Join(dir, "c"), 0o700))
	save(t, filepath.Join(dir, "a/f"), "x")
	must(t, os.Symlink("../a/b", filepath.Join(dir, "c/link")), os.Symlink("loop", filepath.Join(dir, "loop")))
	tests := map[string][]string{
		"a/f":           {"a/f"},
		"c/link/../f":   {"c/f"}, // filepath.Abs has cleaned it
		"none/deep/f":   {"none"},
		"a/b/none":      {"a/b/none"},
		"c/link/none/x": {"c/link", "a/b/none"},
	}
	for path, want := range tests {
		got := config.Spots(filepath.Join(dir, path))
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+"/")
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if got := config.Spots(filepath.Join(dir, "loop")); len(got) > 50 {
		t.Errorf("a loop has %d spots", len(got))
	}
}
