package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// FileName is what the configuration of a project is called.
const FileName = "agent.yml"

// MaxFileSize is the most that a configuration file may hold, in bytes.
const MaxFileSize = 256 << 10

// File is a configuration file as it was read.
type File struct {
	Path   string // as given by the caller
	Bytes  []byte
	SHA256 string // of Bytes, in hexadecimal
	Mode   fs.FileMode

	info fs.FileInfo
}

// ReadFile reads a configuration file. It refuses what is no regular file
// (without ever blocking on a pipe) and what is larger than [MaxFileSize].
// The error names the file; errors.Is tells fs.ErrNotExist and fs.ErrPermission.
func ReadFile(path string) (*File, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, &fileError{Issue{Pos: Position{File: path}, Message: plainOSError(err)}, err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &fileError{Issue{Pos: Position{File: path}, Message: plainOSError(err)}, err}
	}
	if !info.Mode().IsRegular() {
		return nil, fileIssue(path, "this is a %s, want a regular file", kindOf(info.Mode()))
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fileIssue(path, "%s", plainOSError(err))
	}
	if len(b) > MaxFileSize {
		return nil, fileIssue(path, "the file is larger than %d KiB", MaxFileSize>>10)
	}
	return newFile(path, b, info), nil
}

func newFile(path string, b []byte, info fs.FileInfo) *File {
	f := &File{Path: path, Bytes: b, SHA256: digest(b), info: info}
	if info != nil {
		f.Mode = info.Mode()
	}
	return f
}

// With returns the file as it would be with another content.
func (f *File) With(text []byte) *File { return newFile(f.Path, text, f.info) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func fileIssue(path, format string, args ...any) error {
	return Errors{{Pos: Position{File: path}, Message: fmt.Sprintf(format, args...)}}
}

// fileError is an issue that callers may match with errors.Is.
type fileError struct {
	issue Issue
	cause error
}

func (e *fileError) Error() string { return e.issue.String() }
func (e *fileError) Unwrap() error { return e.cause }

func plainOSError(err error) string {
	switch {
	case os.IsNotExist(err):
		return "no such file"
	case os.IsPermission(err):
		return "no permission to read it"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
