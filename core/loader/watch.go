package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/schema"
)

// Run follows the files until ctx ends, and reloads when they change. Call it
// after the first Reload, once.
func (l *Loader) Run(ctx context.Context) {
	w := l.watcher()
	if len(w.Files) == 0 {
		<-ctx.Done()
		return
	}
	w.Run(ctx)
}

// watcher follows the files from what has become of them so far.
func (l *Loader) watcher() *config.Watcher {
	w := l.opts.Watcher
	w.Files, w.Log, w.Changed = l.watched(), l.opts.Log, l.changed
	if doc := l.Document(); doc != nil {
		w.Applied, w.Failed = doc.Fingerprint(), l.Status().Err
	}
	return &w
}

func (l *Loader) watched() []config.Watched {
	var files []config.Watched
	if home := l.opts.Sources.Home; home != "" {
		files = append(files, config.Watched{Path: home, Optional: true})
	}
	if file := l.opts.Sources.File; file != "" {
		files = append(files, config.Watched{Path: file})
	}
	return files
}

// changed takes what the watcher read. It reports failure, so that the same
// bytes are tried again when they are written again.
func (l *Loader) changed(ctx context.Context, files map[string]*config.File, err error) error {
	if e := l.lock(ctx); e != nil {
		return e
	}
	defer l.unlock()
	if err != nil {
		l.refused(err)
		return err
	}
	if l.stale(files) {
		return errStale
	}
	if l.doc != nil && l.last.err == nil && l.doc.Fingerprint() == l.fingerprint(files) {
		return nil // our own write, or a reload that somebody asked for
	}
	return l.reload(ctx, func(path string) (*config.File, error) {
		if f := files[path]; f != nil {
			return f, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	})
}

// errStale makes the watcher come again.
var errStale = errors.New("the file was written while its last content waited to be applied")

// stale reports whether a file is another one than what the watcher read: an
// edit of ours may have had the turn in between, and must not be taken back.
func (l *Loader) stale(files map[string]*config.File) bool {
	for _, w := range l.watched() {
		now, err := config.ReadFile(w.Path)
		if read := files[w.Path]; err == nil && read != nil && now.SHA256 != read.SHA256 {
			return true
		}
	}
	return false
}

// fingerprint is that of a document made of these files.
func (l *Loader) fingerprint(files map[string]*config.File) string {
	var doc config.Document
	for _, w := range l.watched() {
		if f := files[w.Path]; f != nil {
			doc.Files = append(doc.Files, config.FileInfo{Path: f.Path, SHA256: f.SHA256})
		}
	}
	return doc.Fingerprint()
}

func near(name string, candidates []string) string {
	if n := schema.Nearest(name, candidates); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
