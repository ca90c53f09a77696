package config

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrChanged says that a file is not what an edit began from.
var ErrChanged = errors.New("the file was changed in the meantime; try again")

// WriteFile replaces the content of path, which must still be was, by text.
// Links are followed; owner and mode stay. Whoever reads the file sees the old
// or the new content, also after a crash. A nil was means that the file must
// not exist; it is made with mode 0600.
func WriteFile(path string, was, text []byte) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && was == nil:
		return createFile(path, text)
	case err != nil:
		return fmt.Errorf("%s: %s", path, plainOSError(err))
	}
	f, err := ReadFile(target)
	if err != nil {
		return err
	}
	if was == nil || !bytes.Equal(f.Bytes, was) {
		return fmt.Errorf("%s: %w", path, ErrChanged)
	}
	temp, err := writeTemp(target, text, f.info)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Rename(temp, target); err != nil {
		os.Remove(temp)
		if errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) {
			return fmt.Errorf("%s: the file itself is a mount and can't be replaced; mount the folder instead", path)
		}
		return fmt.Errorf("%s: %s", path, plainOSError(err))
	}
	return syncFolder(filepath.Dir(target))
}

func createFile(path string, text []byte) error {
	temp, err := writeTemp(path, text, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// A link, unlike a rename, never replaces what appeared in the meantime.
	err = os.Link(temp, path)
	os.Remove(temp)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", path, ErrChanged)
	}
	if err != nil {
		return fmt.Errorf("%s: %s", path, plainOSError(err))
	}
	return syncFolder(filepath.Dir(path))
}

// writeTemp writes a file beside target, with the owner and mode of like.
func writeTemp(target string, text []byte, like fs.FileInfo) (name string, err error) {
	name = filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()[:10])
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", errors.New(plainOSError(err))
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(name)
		}
	}()
	if like != nil {
		if err := keepOwner(f, like); err != nil {
			return "", fmt.Errorf("the owner can't be kept: %s", plainOSError(err))
		}
		if err := f.Chmod(like.Mode().Perm()); err != nil {
			return "", err
		}
	}
	if _, err := f.Write(text); err != nil {
		return "", err
	}
	return name, f.Sync()
}
