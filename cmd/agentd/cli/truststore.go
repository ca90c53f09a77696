package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentd-host/agentd/core"
)

// trustStore keeps which contents of which files a person accepted. It reads
// its file at each question: another process may have added to it, and it is
// asked seldom.
type trustStore struct{ path string }

// acceptance is one content that was accepted.
type acceptance struct {
	SHA256 string    `json:"sha256"`
	When   time.Time `json:"when"`
	By     string    `json:"by"`
}

// keptContents is how many contents of one file stay accepted: going back to
// the last few is no reason to ask again.
const keptContents = 16

func newTrustStore(e environment) *trustStore {
	return &trustStore{filepath.Join(e.State, "trust.json")}
}

// Trusted tells whether this content of the file at path was accepted.
func (t *trustStore) Trusted(path string, content []byte) bool {
	return t.accepts(path, contentSum(content))
}

// accepts is Trusted by the content's SHA-256 in hex. A store that can't be
// read trusts nothing.
func (t *trustStore) accepts(path, sum string) bool {
	all, err := t.read()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all[realPath(path)], func(a acceptance) bool { return a.SHA256 == sum })
}

// accept remembers that a person accepted contents, by path.
func (t *trustStore) accept(contents map[string][]byte) error {
	lock, err := lockFile(t.path + ".lock")
	if err != nil {
		return errors.New("another agentd is writing what is trusted: try again")
	}
	defer lock.Close()
	all, err := t.read()
	if err != nil {
		return err
	}
	for path, content := range contents {
		path, sum := realPath(path), contentSum(content)
		list := slices.DeleteFunc(all[path], func(a acceptance) bool { return a.SHA256 == sum })
		list = append(list, acceptance{sum, time.Now().UTC().Truncate(time.Second), userName()})
		all[path] = list[max(0, len(list)-keptContents):]
	}
	return t.write(all)
}

func (t *trustStore) read() (map[string][]acceptance, error) {
	all := map[string][]acceptance{}
	text, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w (remove it to trust nothing)", t.path, err)
	}
	return all, nil
}

// write replaces the store in one step.
func (t *trustStore) write(all map[string][]acceptance) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(t.path), ".trust-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), t.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// realPath is the path that trust is kept under: links resolved, so that it
// does not matter by which way the folder was entered.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

func contentSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// keepTrust carries trust over to the text that a person's own command made
// of a trusted file.
func keepTrust(e environment, was, text []byte) error {
	t := newTrustStore(e)
	if !t.Trusted(e.Config, was) {
		return nil
	}
	return t.accept(map[string][]byte{e.Config: text})
}

var _ core.Truster = (*trustStore)(nil)
