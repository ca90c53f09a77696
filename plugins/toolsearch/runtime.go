package toolsearch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// runtimeFile is what the configuration tools write and people may edit: a
// part of the options, for a user or a project.
type runtimeFile struct {
	Version int      `json:"version,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Groups  []Group  `json:"groups,omitempty"`
	Matcher *Matcher `json:"matcher,omitempty"`
	Preload *Preload `json:"preload,omitempty"`
	Core    []string `json:"core,omitempty"`
}

// runtimeKeys are the members that a runtime file may have.
var runtimeKeys = []string{"version", "scope", "groups", "matcher", "preload", "core"}

const (
	runtimeName    = "toolsearch.json"
	runtimeNameDSH = "dsh-tool-search.json"
	runtimeVersion = 1
	maxRuntime     = 256 << 10
)

// runtime keeps the settings of agent.yml and the runtime files in one.
type runtime struct {
	c *core.Context

	mu            sync.Mutex // guards the fields below
	base          *settings
	user, project watched
	merged        *settings
	written       [][]byte // project files of this process' own making
}

// watched is a file that is read again and again: its last good content
// counts until there is a better one.
type watched struct {
	path  string
	seen  []byte // the content read last; nil: no file
	trust bool   // whether seen was trusted
	good  *runtimeFile
}

// settings are those in force now. The files are read each time: two edits
// within one tick of the clock look alike to anything but their content.
func (r *runtime) settings() *settings {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := r.merged == nil
	switch r.base.configScope {
	case scopeUser, scopeAuto:
		changed = r.user.refresh(r.userPaths(), r.readUser, r.say) || changed
	default:
		changed = r.user.drop() || changed
	}
	switch r.base.configScope {
	case scopeProject, scopeAuto:
		changed = r.project.refresh(r.projectPaths(), r.readProject, r.say) || changed
	default:
		changed = r.project.drop() || changed
	}
	if changed {
		r.merged = r.base.with(r.user.good, r.project.good)
	}
	return r.merged
}

// reset puts other settings from agent.yml below the files, and returns the
// old ones.
func (r *runtime) reset(base *settings) (old *settings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.base, r.merged = r.base, base, nil
	return old
}

// with lays runtime files over settings, the later ones on top; the lists of
// core are added up.
func (s *settings) with(files ...*runtimeFile) *settings {
	out := *s
	for _, f := range files {
		if f == nil {
			continue
		}
		if f.Groups != nil {
			out.groups = f.Groups
		}
		out.setMatcher(f.Matcher)
		set(&out.preload, f.Preload)
		out.addCore(f.Core)
	}
	return &out
}

// userPaths are the places of the user's file, the first that is there counts.
func (r *runtime) userPaths() []string {
	paths, ok := core.Environment.Get(r.c)
	if !ok || paths.Home == "" {
		return nil
	}
	list := []string{filepath.Join(paths.Home, runtimeName)}
	if r.base.preset == presetDSH {
		list = append(list, filepath.Join(filepath.Dir(paths.Home), ".dsh", runtimeNameDSH))
	}
	return list
}

func (r *runtime) projectPaths() []string {
	root, ok := core.Workspace.Get(r.c)
	if !ok || root.Path() == "" {
		return nil
	}
	list := []string{filepath.Join(root.Path(), ".agentd", runtimeName)}
	if r.base.preset == presetDSH {
		list = append(list, filepath.Join(root.Path(), ".dsh", runtimeNameDSH))
	}
	return list
}

func (r *runtime) readUser(path string) ([]byte, bool, error) {
	data, err := readRegular(path)
	return data, true, err
}

// readProject reads a file of the workspace, without following links out of
// it, and says whether somebody accepted its content.
func (r *runtime) readProject(path string) ([]byte, bool, error) {
	root, ok := core.Workspace.Get(r.c)
	if !ok {
		return nil, false, fs.ErrNotExist
	}
	dir, err := os.OpenRoot(root.Path())
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	name, err := filepath.Rel(root.Path(), path)
	if err != nil {
		return nil, false, err
	}
	data, err := readFile(dir.Open, dir.Stat, name)
	if err != nil {
		return nil, false, err
	}
	if slices.ContainsFunc(r.written, func(own []byte) bool { return bytes.Equal(own, data) }) {
		return data, true, nil
	}
	trust, ok := core.Trust.Get(r.c)
	return data, ok && trust.Trusted(path, data), nil
}

func readRegular(path string) ([]byte, error) { return readFile(os.Open, os.Stat, path) }

func readFile(
	open func(string) (*os.File, error), stat func(string) (fs.FileInfo, error), name string,
) ([]byte, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRuntime+1))
	if err == nil && len(data) > maxRuntime {
		err = fmt.Errorf("%s has more than %d bytes", name, maxRuntime)
	}
	return data, err
}

// A reader reads a file and tells whether its content is trusted; a notifier
// tells the log about one.
type (
	reader   func(path string) (data []byte, trusted bool, err error)
	notifier func(path, message string, err error)
)

func (r *runtime) say(path, message string, err error) {
	args := []any{"file", path}
	if err != nil {
		args = append(args, "err", err)
	}
	r.c.Logger().Warn(message, args...)
}

// refresh reads the first of the paths that is there, and tells whether what
// counts has changed.
func (w *watched) refresh(paths []string, read reader, say notifier) bool {
	for _, path := range paths {
		data, trusted, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil { // half written or locked: what counted goes on counting
			return false
		}
		return w.take(path, data, trusted, say)
	}
	return w.drop()
}

func (w *watched) drop() bool {
	had := w.good != nil
	*w = watched{}
	return had
}

// take looks at a content unless it is the one seen last.
func (w *watched) take(path string, data []byte, trusted bool, say notifier) bool {
	if w.path == path && w.trust == trusted && w.seen != nil && bytes.Equal(w.seen, data) {
		return false
	}
	if w.path != path {
		w.good = nil
	}
	w.path, w.seen, w.trust = path, data, trusted
	if !trusted {
		had := w.good != nil
		w.good = nil
		say(path, "a project's file is not read until somebody trusts it (agentd trust)", nil)
		return had
	}
	f, unknown, err := parseRuntime(data)
	if err != nil {
		say(path, "a runtime file is wrong, its last good content counts", err)
		return false
	}
	if len(unknown) > 0 {
		say(path, "unknown keys in a runtime file: "+strings.Join(unknown, ", "), nil)
	}
	w.good = f
	return true
}

// parseRuntime reads a runtime file and names the members it does not know.
func parseRuntime(data []byte) (*runtimeFile, []string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, nil, fmt.Errorf("want a JSON object: %w", err)
	}
	var unknown []string
	for key, raw := range members {
		if !slices.Contains(runtimeKeys, key) {
			unknown = append(unknown, key)
			delete(members, key)
		}
		if string(raw) == "null" {
			delete(members, key)
		}
	}
	slices.Sort(unknown)
	known, err := json.Marshal(members)
	if err != nil {
		return nil, nil, err
	}
	shape, err := schema.Of(reflect.TypeFor[runtimeFile]())
	if err != nil {
		return nil, nil, err
	}
	if err := shape.Validate(known).Err(); err != nil {
		return nil, nil, err
	}
	f := new(runtimeFile)
	if err := schema.Decode(known, f); err != nil {
		return nil, nil, err
	}
	return f, unknown, nil
}
