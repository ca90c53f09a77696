package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watched is a file that a [Watcher] follows.
type Watched struct {
	Path     string
	Optional bool // that it is missing is a state, not an error
}

// Watcher follows files and says when their content is another one. Its
// fields must not change while Run runs. The zero durations mean the defaults.
//
// A file that was cut off at the end of a line and closed can't be told from a
// whole one. A file that is a mount of its own is seen to change only where
// the mount passes that on, or by polling: mount its folder.
type Watcher struct {
	Files []Watched

	// Changed is called when the content is another than the one that it last
	// returned nil for, one call at a time. files holds what was read, by path
	// as given; a missing optional file is not in it. If the files can't be
	// read, err says why, once, and files is nil. After an error the same
	// content is handed over again when a file was written again.
	Changed func(ctx context.Context, files map[string]*File, err error) error

	// Applied is the fingerprint of the content that is in force already, see
	// [Document.Fingerprint].
	Applied string

	// Failed is what became of Applied, if anything of it failed: then it is
	// handed over again when a file was written again, as after Changed failed.
	Failed error

	Debounce time.Duration // quiet time before files are read; 100 ms
	MaxDelay time.Duration // from the first event, however many follow; 1 s
	Poll     time.Duration // how often files are looked at without any event; 2 s
	Settle   time.Duration // how long an unfinished file is waited for; 1 s
	Retry    time.Duration // how often it is looked at meanwhile; 50 ms

	// PollOnly uses no notifications of the system. It is also what happens
	// when there are none to be had.
	PollOnly bool

	Log *slog.Logger // nil = none
}

// Run follows the files until ctx ends, and returns when nothing of it runs
// any more: no goroutine, no notification instance. It may be called once.
func (w *Watcher) Run(ctx context.Context) {
	w.defaults()
	paths := newPathSet(w.Files, w.PollOnly, w.Log)
	defer paths.close()
	before := ""
	if w.Failed != nil {
		before = w.Failed.Error()
	}
	l := &watchLoop{w: w, look: paths.look, refresh: paths.refresh,
		events: paths.events, errors: paths.errors, relevant: paths.relevant,
		read: w.readStable, applied: w.Applied, before: before}
	l.run(ctx)
}

func (w *Watcher) defaults() {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&w.Debounce, 100 * time.Millisecond}, {&w.MaxDelay, time.Second}, {&w.Poll, 2 * time.Second},
		{&w.Settle, time.Second}, {&w.Retry, 50 * time.Millisecond},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
}

// watchLoop decides when to read. What it knows of the world comes in through
// its fields, so that it can be tested without files.
type watchLoop struct {
	w        *Watcher
	look     func() string // cheap signature of the files
	refresh  func()        // watch what the paths lead to now
	events   <-chan fsnotify.Event
	errors   <-chan error
	relevant func(fsnotify.Event) bool
	read     func(context.Context) (map[string]*File, error)

	applied string // fingerprint of what Changed last accepted
	failed  string // text of the last error that was reported
	before  string // and of one that was reported before the first look
	seen    string // signature before the last read
	unsure  bool   // the last read found a file that was not finished

	quiet *time.Timer   // when what was noted is read
	dirty bool          // something was noted that no read began after
	first time.Time     // when that began; zero = before we came
	busy  chan struct{} // closed when the read and Changed are done; nil = none runs
}

func (l *watchLoop) run(ctx context.Context) {
	poll := time.NewTicker(l.w.Poll)
	defer poll.Stop()
	l.quiet, l.dirty = time.NewTimer(0), true // whatever happened before we came
	defer l.quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			if l.busy != nil {
				<-l.busy
			}
			return
		case e, ok := <-l.events:
			switch {
			case !ok:
				l.events = nil
			case l.relevant(e):
				l.note()
			}
		case err, ok := <-l.errors:
			if !ok {
				l.errors = nil
				continue
			}
			// An overflow means that events were lost; so may any other error.
			l.w.Log.Debug("watching agent.yml", "err", err)
			l.note()
		case <-poll.C:
			if l.busy == nil && !l.dirty && (l.unsure || l.look() != l.seen) {
				l.note()
			}
		case <-l.quiet.C:
			l.begin(ctx)
		case <-l.busy:
			l.busy = nil
			if l.dirty {
				l.note()
			}
		}
	}
}

// note has the files read once it is quiet, or the longest delay is over.
func (l *watchLoop) note() {
	now := time.Now()
	if !l.dirty {
		l.dirty, l.first = true, now
	}
	if l.first.IsZero() {
		l.first = now
	}
	l.quiet.Reset(min(l.w.Debounce, max(0, l.w.MaxDelay-now.Sub(l.first))))
}

// begin reads the files, unless that is still being done; then the end of that
// notes what came meanwhile.
func (l *watchLoop) begin(ctx context.Context) {
	if l.busy != nil || !l.dirty {
		return
	}
	l.dirty, l.first = false, time.Time{}
	done := make(chan struct{})
	l.busy = done
	go func() {
		defer close(done)
		l.once(ctx)
	}()
}

// once reads the files and hands over what is new.
func (l *watchLoop) once(ctx context.Context) {
	l.refresh()
	l.seen = l.look()
	files, err := l.read(ctx)
	if ctx.Err() != nil {
		return
	}
	l.unsure = err != nil
	if err != nil {
		if err.Error() != l.failed {
			l.failed = err.Error()
			l.w.Changed(ctx, nil, err)
		}
		return
	}
	now := fingerprintOf(l.w.Files, files)
	if now == l.applied && l.failed == "" {
		l.failed, l.before = l.before, ""
		return
	}
	if err := l.w.Changed(ctx, files, nil); err != nil {
		l.failed = err.Error()
		return
	}
	l.applied, l.failed = now, ""
}

// fingerprintOf identifies the content of all files together.
func fingerprintOf(watched []Watched, files map[string]*File) string {
	var b strings.Builder
	for _, f := range watched {
		if file := files[f.Path]; file != nil {
			fmt.Fprintf(&b, "%s %s\n", file.SHA256, f.Path)
		}
	}
	return b.String()
}

// errUnfinished says that somebody is not done with a file.
var errUnfinished = errors.New("another program has the file open for writing")

// readStable reads all files, and waits for those that look unfinished:
// missing, empty, changed while they were read, or open for writing.
func (w *Watcher) readStable(ctx context.Context) (map[string]*File, error) {
	deadline := time.Now().Add(w.Settle)
	for {
		files, err := w.readAll()
		if err == nil || time.Now().After(deadline) {
			return files, err
		}
		timer := time.NewTimer(w.Retry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

func (w *Watcher) readAll() (map[string]*File, error) {
	files := make(map[string]*File, len(w.Files))
	for _, watched := range w.Files {
		f, err := readSettled(watched.Path)
		if watched.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[watched.Path] = f
	}
	return files, nil
}

// readSettled reads a file that nobody is writing.
func readSettled(path string) (*File, error) {
	before, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(before.Bytes) == 0 {
		return nil, fileIssue(path, "the file is empty; write plugins: {} if no plugin should run")
	}
	if writerHas(path) {
		return nil, fileIssue(path, "%v", errUnfinished)
	}
	after, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	if after.SHA256 != before.SHA256 || signature(after.info) != signature(before.info) {
		return nil, fileIssue(path, "the file changes while it is read")
	}
	return after, nil
}
