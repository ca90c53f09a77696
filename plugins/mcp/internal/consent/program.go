package consent

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/internal/statefile"
)

// A Program is what the system runs for a command: the file itself, and if
// that is a script its interpreter, which may be one again.
type Program []File

// A File is a part of a program.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"` // empty: it can't be read
}

func (p Program) equal(q Program) bool { return slices.Equal(p, q) }

// String lists the files with the beginnings of their digests.
func (p Program) String() string {
	parts := make([]string, len(p))
	for i, f := range p {
		parts[i] = word(f.Path) + " (" + shortSum(f.SHA256) + ")"
	}
	return strings.Join(parts, " run by ")
}

func shortSum(sum string) string {
	if sum == "" {
		return "not readable"
	}
	return "sha256 " + sum[:min(len(sum), 16)]
}

// maxDepth bounds how many interpreters may stand one behind the other, as in
// Linux.
const maxDepth = 4

// Programs digests programs and remembers the digests of files that stay as
// they are. The zero value is ready; it may be used concurrently.
type Programs struct {
	mu   sync.Mutex // guards sums
	sums map[string]summed
}

type summed struct {
	stamp statefile.Stamp
	file  File
	next  string // the interpreter, as its first line names it
}

// Find describes the program at path. search is the PATH of the process that
// it will be: there env looks for interpreters.
func (p *Programs) Find(path, search string) Program {
	var out Program
	for range maxDepth {
		s := p.sum(path)
		out = append(out, s.file)
		if s.next == "" {
			break
		}
		path = interpreter(s.next, search)
		if path == "" {
			break // it will not start
		}
	}
	return out
}

// sum digests one file, unless it is as it was.
func (p *Programs) sum(path string) summed {
	stamp := statefile.StampOf(path)
	p.mu.Lock()
	known, ok := p.sums[path]
	p.mu.Unlock()
	if ok && known.stamp.Exists() && known.stamp.Same(stamp) {
		return known
	}
	s := summed{stamp: stamp, file: File{Path: path}}
	if sum, first, err := digestFile(path); err == nil {
		s.file.SHA256 = sum
		s.next, _ = strings.CutPrefix(first, "#!")
		if s.next == first {
			s.next = ""
		}
		p.mu.Lock()
		if p.sums == nil {
			p.sums = map[string]summed{}
		}
		p.sums[path] = s
		p.mu.Unlock()
	}
	return s
}

// digestFile reads a file once, for its digest and its first line.
func digestFile(path string) (sum, first string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s: no regular file", path)
	}
	h := sha256.New()
	r := bufio.NewReaderSize(io.TeeReader(f, h), 64<<10)
	head, _ := r.Peek(256) // what Linux reads of it
	first, _, _ = strings.Cut(string(head), "\n")
	if _, err := io.Copy(io.Discard, r); err != nil {
		return "", "", err
	}
	return hex.EncodeToString(h.Sum(nil)), first, nil
}

// interpreter finds what the first line of a script names, empty if it is not
// there. `env NAME`, with or without options, is NAME.
func interpreter(line, search string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		return lookIn(w, search)
	}
	return words[0]
}

// lookIn finds a program by a PATH that need not be ours.
func lookIn(name, search string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	for _, dir := range filepath.SplitList(search) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
