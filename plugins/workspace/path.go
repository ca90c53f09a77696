package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// errOutside is wrapped by the error for every path that leads out of the root.
var errOutside = errors.New("outside the workspace")

const maxLinks = 40 // as the kernel

// resolve turns a path as a model wrote it, relative to the root or absolute,
// into the real name below the root: slashes, no "..", no symbolic link on the
// way. The last parts need not exist. The error wraps errOutside where the
// path, or a link on its way, leaves the root.
func (f *folder) resolve(p string) (string, error) {
	if err := checkText(p); err != nil {
		return "", err
	}
	rel, err := f.relative(p)
	if err != nil {
		return "", err
	}
	name, err := f.follow(rel)
	if errors.Is(err, errOutside) {
		return "", f.outside(p)
	}
	return name, err
}

func checkText(p string) error {
	if !utf8.ValidString(p) {
		return fmt.Errorf("path %q is not valid UTF-8", p)
	}
	if i := strings.IndexFunc(p, unicode.IsControl); i >= 0 {
		return fmt.Errorf("path %q holds a control character", p)
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		return fmt.Errorf("path %q: ~ is not expanded; give a path relative to the workspace", p)
	}
	return nil
}

func (f *folder) outside(p string) error {
	return fmt.Errorf("path %q is %w; give a path below %s", p, errOutside, f.path)
}

// relative strips the root from an absolute path.
func (f *folder) relative(p string) (string, error) {
	if !isRooted(p) {
		return filepath.ToSlash(p), nil
	}
	for _, root := range []string{f.path, f.given} {
		rel, err := filepath.Rel(root, filepath.Clean(p))
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(behind(root, p)), nil
		}
	}
	return "", f.outside(p)
}

// isRooted reports absolute paths, and on Windows also those that name a
// drive or begin at the current one.
func isRooted(p string) bool {
	return filepath.IsAbs(p) || filepath.VolumeName(p) != "" || strings.HasPrefix(filepath.ToSlash(p), "/")
}

// behind returns what follows the root in a path that leads to or below it, as
// it was written: cleaning that is wrong when ".." follows a link.
func behind(root, p string) string {
	for i := range p {
		if !os.IsPathSeparator(p[i]) {
			continue
		}
		if rel, err := filepath.Rel(root, filepath.Clean(p[:i+1])); err == nil && rel == "." {
			return p[i+1:]
		}
	}
	return "" // it is the root
}

// follow walks rel from the root as the kernel would, but stops at the root's
// edge instead of crossing it.
func (f *folder) follow(rel string) (string, error) {
	todo := strings.Split(rel, "/")
	var done []string
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", errOutside
			}
			done = done[:len(done)-1]
			continue
		}
		name := path.Join(append(slices.Clone(done), part)...)
		target, err := f.link(name)
		if err != nil {
			return "", err
		}
		if target == "" {
			done = append(done, part)
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many symbolic links", name)
		}
		if isRooted(target) {
			if target, err = f.relative(target); err != nil {
				return "", errOutside
			}
			done = nil
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return path.Join(done...), nil
}

// link returns what the symbolic link at name points to, or "" if there is
// none.
func (f *folder) link(name string) (string, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", plainError(name, err)
	case info.Mode()&fs.ModeSymlink == 0:
		return "", nil
	}
	target, err := f.root.Readlink(name)
	if err != nil {
		return "", plainError(name, err)
	}
	if target == "" {
		return "", fmt.Errorf("%s: empty symbolic link", name)
	}
	return target, nil
}

// guardedNames are the names, at any depth, below which a write changes what
// agentd, git or a shell will do later without asking.
var guardedNames = [...]string{"agent.yml", "agent.yaml", ".agentd", ".dsh", ".git"}

// isGuarded reports whether the real name leads to or through a guarded name,
// also in a spelling that only some file systems take for the same.
func isGuarded(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if slices.Contains(guardedNames[:], foldName(part)) {
			return true
		}
	}
	return false
}

// isGuarded also knows agentd's own files below this root.
func (f *folder) isGuarded(name string) bool {
	folded := foldPath(name)
	return isGuarded(name) || slices.ContainsFunc(f.guarded, func(g string) bool {
		return folded == g || strings.HasPrefix(folded, g+"/")
	})
}

// foldPath folds each name of a path.
func foldPath(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = foldName(part)
	}
	return strings.Join(parts, "/")
}

// foldName maps a file name to one form for all spellings that a file system
// may confuse: case and compatibility forms (APFS, NTFS), ignored characters
// (HFS+), trailing dots and spaces, streams and short names (NTFS).
func foldName(part string) string {
	part = norm.NFKC.String(part)
	part = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":")
	part = strings.TrimRight(part, ". ")
	part = norm.NFKC.String(cases.Fold().String(part))
	if stem, ok := shortName(part); ok {
		for _, g := range guardedNames {
			if long, _, _ := strings.Cut(strings.TrimPrefix(g, "."), "."); long[:min(6, len(long))] == stem {
				return g
			}
		}
	}
	return part
}

// shortName recognises an 8.3 name such as GIT~1 and returns its stem.
func shortName(part string) (stem string, ok bool) {
	stem, number, found := strings.Cut(part, "~")
	if !found || stem == "" || number == "" {
		return "", false
	}
	return stem, number[0] >= '0' && number[0] <= '9'
}

// hidden reports characters that nobody sees and that may therefore not
// appear in the name of a new file.
func hidden(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Cf, r) })
}

// plainError drops the system call from a path error and adds the name.
func plainError(name string, err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: %w", name, fs.ErrNotExist)
	case errors.As(err, &pe):
		return fmt.Errorf("%s: %w", name, pe.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
