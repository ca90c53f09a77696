package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentd-host/agentd/internal/statefile"
)

// What of a folder has to be accepted: its configuration and the folders with
// settings and skills.
var (
	files   = []string{"agent.yml", "agent.yaml"}
	folders = []string{".agentd", ".dsh"}
)

const (
	maxFiles = 2000
	maxSize  = 8 << 20
)

// File is a file that wants to be trusted.
type File struct {
	Path   string `json:"path"` // absolute, links resolved
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Scan lists the files of a folder that count only when they are trusted,
// sorted by path, with the digest of what they hold now. Links are not
// followed: what they lead to belongs to another place and is not accepted
// with this one. A folder without such files is an empty list.
func Scan(dir string) ([]File, error) {
	dir, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	var found []File
	add := func(path string) error {
		if len(found) == maxFiles {
			return fmt.Errorf("%s: more than %d files want to be trusted", dir, maxFiles)
		}
		f, err := read(path)
		if err == nil {
			found = append(found, f)
		}
		return err
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := add(path); err != nil {
			return nil, err
		}
	}
	for _, name := range folders {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return add(path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return found, nil
}

// ReadFile returns the file at path as Scan lists it, with its content: what
// a person is shown is what is then accepted.
func ReadFile(path string) (File, []byte, error) {
	path, err := realPath(path)
	if err != nil {
		return File{}, nil, err
	}
	data, err := content(path)
	if err != nil {
		return File{}, nil, err
	}
	return fileOf(path, data), data, nil
}

// FileOf is the file at path with the content that somebody is about to give
// it.
func FileOf(path string, content []byte) (File, error) {
	path, err := realPath(path)
	return fileOf(path, content), err
}

func fileOf(path string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{Path: path, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

func read(path string) (File, error) {
	f, _, err := ReadFile(path)
	return f, err
}

func content(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return statefile.ReadAll(f, maxSize)
}
