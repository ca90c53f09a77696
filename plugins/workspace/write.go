package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// writeInput is what write_file takes.
type writeInput struct {
	Path    string `json:"path" jsonschema_description:"File to write, relative to the workspace. Missing folders are made."`
	Content string `json:"content" jsonschema_description:"The whole new content."`
	Create  bool   `json:"create,omitempty" jsonschema_description:"Refuse if the file exists already."`
}

// write replaces or creates the file at the real name in one step: a reader sees the old content
// or the new. An existing file keeps its mode, its byte order mark and, if the
// content is written with plain line feeds, its CRLF line breaks.
func (f *folder) write(ctx context.Context, name string, in writeInput) (string, error) {
	if int64(len(in.Content)) > f.limits.fileSize {
		return "", fmt.Errorf("content is larger than the %d bytes that are written at once (`maxFileSize`)",
			f.limits.fileSize)
	}
	if hidden(name) {
		return "", fmt.Errorf("path %+q holds an invisible character", name)
	}
	f.writes.Lock()
	defer f.writes.Unlock()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	old, err := f.existing(name)
	if err != nil {
		return "", err
	}
	if old == nil {
		return f.create(name, in.Content)
	}
	if in.Create {
		return "", fmt.Errorf("%s exists already", name)
	}
	content, kept := inStyleOf(old.data, in.Content)
	if err := f.replace(name, []byte(content), old.info); err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %s: %s, was %s%s", visible(name),
		plural(lineCount(content), "line"), plural(lineCount(string(old.data)), "line"), kept), nil
}

func (f *folder) create(name, content string) (string, error) {
	if dir := path.Dir(name); dir != "." {
		if err := f.root.MkdirAll(dir, 0o777); err != nil {
			return "", plainError(dir, err)
		}
	}
	if err := f.replace(name, []byte(content), nil); err != nil {
		return "", err
	}
	return fmt.Sprintf("created %s: %s", visible(name), plural(lineCount(content), "line")), nil
}

// oldFile is a file about to be replaced.
type oldFile struct {
	info fs.FileInfo
	data []byte // its beginning, if it is large
}

// existing returns nil for a file that does not exist.
func (f *folder) existing(name string) (*oldFile, error) {
	file, info, err := f.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s cannot be read, so it is not replaced: %w", name, fs.ErrPermission)
	case err != nil:
		return nil, err
	}
	defer file.Close()
	data := make([]byte, min(info.Size(), f.limits.fileSize))
	n, err := io.ReadFull(file, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil // it shrank; unchanged will notice
	}
	return &oldFile{info: info, data: data[:n]}, err
}

// inStyleOf gives text the byte order mark and the line breaks of old, and
// says in a few words what it did.
func inStyleOf(old []byte, text string) (styled, note string) {
	if bytes.HasPrefix(old, []byte(bom)) && !strings.HasPrefix(text, bom) {
		text, note = bom+text, " (byte order mark kept)"
	}
	if usesCRLF(old) && strings.Contains(text, "\n") && !strings.Contains(text, "\r") {
		text, note = toCRLF(text), note+" (CRLF line breaks kept)"
	}
	return text, note
}

// replace puts data in place of the file at name, which looked like was
// when the decision was made; was is nil for a new file. The folder exists.
func (f *folder) replace(name string, data []byte, was fs.FileInfo) (err error) {
	mode := fs.FileMode(0o666)
	if was != nil {
		if mode = was.Mode().Perm(); mode&0o222 == 0 {
			return fmt.Errorf("%s is read-only", name)
		}
	}
	temp := path.Join(path.Dir(name), ".agentd-"+rand.Text()+".tmp")
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return plainError(path.Dir(name), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", name, err), f.root.Remove(temp))
		}
	}()
	if err := fillFile(file, data, mode, was != nil); err != nil {
		return err
	}
	if err := f.unchanged(name, was); err != nil {
		return err
	}
	if err := f.root.Rename(temp, name); err != nil {
		return err
	}
	f.syncFolder(path.Dir(name))
	return nil
}

// fillFile writes and closes the file; a mode that is to be kept is set
// beyond the umask.
func fillFile(file *os.File, data []byte, mode fs.FileMode, keep bool) error {
	_, err := file.Write(data)
	if err == nil && keep {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// unchanged notices another writer between the reading and the replacing.
func (f *folder) unchanged(name string, was fs.FileInfo) error {
	now, err := f.root.Lstat(name)
	switch {
	case was == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case was == nil && err == nil:
		return errors.New("was created by somebody else in the meantime; read it again")
	case err != nil:
		return err
	case !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()):
		return errors.New("was changed by somebody else in the meantime; read it again")
	}
	return nil
}

// syncFolder makes a rename durable where the system can do that.
func (f *folder) syncFolder(dir string) {
	if file, err := f.root.Open(dir); err == nil {
		file.Sync() // not every file system can; the rename stands
		file.Close()
	}
}
