// Package statefile keeps small private files of the state folder: read and
// written whole, 0600, replaced atomically, changed by one process at a time.
//
//	err := statefile.Update(path, func(old []byte) ([]byte, error) { … })
//
// All functions are safe for concurrent use, also between processes (on
// Windows processes are not kept apart).
package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxSize bounds a file that is read.
const maxSize = 8 << 20

// ErrUnsafe is matched by errors about files that somebody else could have
// written.
var ErrUnsafe = errors.New("others may write it")

// Read returns the content of path, nil without an error if there is no such
// file. A file that group or others may write, or that belongs to another
// user, is refused with an error that matches [ErrUnsafe].
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(path, info); err != nil {
		return nil, err
	}
	return ReadAll(f, maxSize)
}

// ReadAll reads a file to its end; one with more than max bytes is an error.
func ReadAll(f *os.File, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("%s: larger than %d bytes", f.Name(), max)
	}
	return data, err
}

// Decode reads a file of ours in its first version, the only one yet: JSON with
// a member "version". A later one, or a member that v lacks, is an error; an
// empty file leaves v as it is.
func Decode(data []byte, v any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	head := struct{ Version int }{1}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&head); err != nil {
		return err
	}
	if head.Version != 1 {
		return fmt.Errorf("version %d is newer than this program", head.Version)
	}
	return nil
}

func check(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	if err := checkOwner(info); err != nil {
		return fmt.Errorf("%s: %w; check it, then: chmod 600 and chown to yourself", path, err)
	}
	return nil
}

// Write replaces the content of path: a new file beside it, 0600, synced,
// then renamed. The folder is made (0700) if it is missing. After an error
// the old content is still there.
func Write(path string, data []byte) error {
	if err := replace(path, data, (*os.File).Sync); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// WriteCache is Write for what can be learnt again: nothing waits for the
// disk. After a power cut the file may be gone or cut off.
func WriteCache(path string, data []byte) error {
	return replace(path, data, func(*os.File) error { return nil })
}

// replace writes a new file and puts it in the place of path; done is called
// before it is closed.
func replace(path string, data []byte, done func(*os.File) error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // O_EXCL, 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := done(tmp); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Update reads path, lets change make the new content and writes it, with
// no other Update in between. Content that stays equal is not written.
func Update(path string, change func(old []byte) ([]byte, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock := NewLock(path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	defer lock.Unlock()
	old, err := Read(path)
	if err != nil {
		return err
	}
	data, err := change(old)
	if err != nil || string(data) == string(old) {
		return err
	}
	return Write(path, data)
}

// Stamp tells one state of a file from another. The zero value is that of a
// file that is not there.
type Stamp struct {
	info    fs.FileInfo
	size    int64
	mtime   time.Time
	changed time.Time // zero where the system does not tell
}

// StampOf looks at path. A file that can't be looked at counts as not there.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info, info.Size(), info.ModTime(), changeTime(info)}
}

// Exists reports whether there was a file.
func (s Stamp) Exists() bool { return s.info != nil }

// Same reports whether nothing was written in between. Write always makes
// another file, so that it is noticed whatever the clock's grain.
func (s Stamp) Same(o Stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return s.size == o.size && s.mtime.Equal(o.mtime) && s.changed.Equal(o.changed) && os.SameFile(s.info, o.info)
}
