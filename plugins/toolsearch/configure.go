package toolsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentd-host/agentd/core"
)

var (
	noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

	configureParameters = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
		`"scope":{"type":"string","enum":["user","project"],` +
		`"description":"For the user everywhere, or for this project. Default user."},` +
		`"groups":{"type":["array","null"],"description":"Groups of tools; the first that fits counts.",` +
		`"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},` +
		`"tools":{"type":"array","items":{"type":"string"},"description":"Exact names."},` +
		`"prefixes":{"type":"array","items":{"type":"string"},"description":"Beginnings of names."}}}},` +
		`"matcher":{"type":["object","null"],"description":"A rerank service.","required":["endpoint"],` +
		`"properties":{"endpoint":{"type":"string","description":"The full URL."},` +
		`"apiKey":{"type":"string"},"model":{"type":"string"},"topN":{"type":"integer"},` +
		`"timeout":{"type":"string","description":"Such as 15s."}}},` +
		`"preload":{"type":["object","null"],` +
		`"properties":{"enabled":{"type":"boolean"},"topK":{"type":"integer"}}},` +
		`"core":{"type":["array","null"],"items":{"type":"string"},` +
		`"description":"Tools that are always shown."}}}`)
)

// defineConfigTools registers the configuration tools in place of those of
// the old settings, nil if there were none.
func (l *layer) defineConfigTools(c *core.Context, old, s *settings) error {
	return c.Tools().Batch(func(b *core.ToolBatch) error {
		if old != nil && old.configTools != configToolsNone {
			catalogue, configure := old.configNames()
			b.Remove(catalogue)
			b.Remove(configure)
		}
		if s.configTools == configToolsNone {
			return nil
		}
		catalogue, configure := s.configNames()
		b.Define(core.Tool{
			Name: catalogue, Title: "Tool catalogue", Subsystem: "tool search", Parameters: noParameters,
			Description: "List all tools with their groups, and how tool search is configured.",
			Traits:      core.Traits{Effect: core.Read, Parallel: true}, Run: l.runCatalog,
		})
		b.Define(core.Tool{
			Name: configure, Title: "Configure tool search", Subsystem: "tool search",
			Description: "Write groups, matcher, preload and always shown tools of tool search " +
				"for the user or the project. The skill " + s.skillName() + " tells how.",
			Parameters: configureParameters,
			Traits:     core.Traits{Effect: core.Write}, Run: l.runConfigure,
		})
		return nil
	})
}

// catalogAnswer is what the catalogue tool says.
type catalogAnswer struct {
	Total   int           `json:"total"`
	Groups  []GroupCount  `json:"groups"`
	Scope   string        `json:"scope"` // which runtime files are read
	Matcher bool          `json:"matcher"`
	Preload bool          `json:"preload"`
	Core    []string      `json:"core,omitempty"`
	Tools   []catalogTool `json:"tools"`
	Hint    string        `json:"hint,omitempty"`
}

type catalogTool struct {
	Name        string `json:"name"`
	Group       string `json:"group,omitempty"`
	Description string `json:"description,omitempty"`
}

func (l *layer) runCatalog(ctx context.Context, inv *core.Invocation) (core.Result, error) {
	v, err := l.view(ctx, inv.Call)
	if err != nil {
		return core.Result{}, err
	}
	sp := v.split
	a := catalogAnswer{
		Total: len(sp.found), Groups: sp.groups.counts, Scope: sp.s.configScope,
		Matcher: sp.s.matcher != nil, Preload: sp.s.preload.Enabled, Core: sp.s.pinned,
	}
	for _, t := range sp.found {
		a.Tools = append(a.Tools, catalogTool{t.Name, sp.groups.label(t.Name), firstSentence(t.Description)})
	}
	return core.Result{Structured: a.encode(inv.MaxResult)}, nil
}

// encode leaves out descriptions, then tools, where limit bytes are not enough.
func (a *catalogAnswer) encode(limit int) json.RawMessage {
	text := encode(a)
	if limit <= 0 || len(text) <= limit {
		return text
	}
	for i := range a.Tools {
		a.Tools[i].Description = ""
	}
	a.Hint = "The answer was too long: descriptions are left out."
	for text = encode(a); len(text) > limit && len(a.Tools) > 0; text = encode(a) {
		a.Tools = a.Tools[:len(a.Tools)/2]
		a.Hint = fmt.Sprintf("The answer was too long: %d of %d tools are listed, without descriptions.",
			len(a.Tools), a.Total)
	}
	return text
}

// configured is what the configure tool says: nothing of what was written,
// since that may hold a key.
type configured struct {
	OK      bool     `json:"ok"`
	Scope   string   `json:"scope"`
	File    string   `json:"file"`
	Changed []string `json:"changed"`
	Hint    string   `json:"hint,omitempty"`
}

func (l *layer) runConfigure(_ context.Context, inv *core.Invocation) (core.Result, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(inv.Args, &members); err != nil {
		return core.Result{}, err
	}
	scope := scopeUser
	if raw, ok := members["scope"]; ok {
		if err := json.Unmarshal(raw, &scope); err != nil {
			return core.Result{}, err
		}
	}
	delete(members, "scope")
	if len(members) == 0 {
		const what = "say what to write: groups, matcher, preload or core"
		return core.ErrorResult(core.CodeArguments, inv.Name, what), nil
	}
	path, err := l.runtime.write(scope, members)
	if err != nil {
		return core.Result{}, err
	}
	a := configured{OK: true, Scope: scope, File: path, Changed: slices.Sorted(maps.Keys(members))}
	switch in := l.runtime.settings().configScope; {
	case in != scopeAuto && in != scope:
		a.Hint = "It is not in force: configScope is " + in + "."
	case scope == scopeProject:
		a.Hint = "In force now; after a restart only once somebody trusts the file (agentd trust)."
	}
	return core.Result{Structured: encode(a)}, nil
}

// write changes members of one scope's file; null removes one. What else the
// file holds stays, and nothing of the other scope's gets into it.
func (r *runtime) write(scope string, members map[string]json.RawMessage) (path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	paths, read := r.userPaths(), reader(r.readUser)
	if scope == scopeProject {
		paths, read = r.projectPaths(), r.readProject
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("there is no folder for scope %s", scope)
	}
	content, err := present(paths, read)
	if err != nil {
		return "", err
	}
	for key, raw := range members {
		if string(raw) == "null" {
			delete(content, key)
			continue
		}
		content[key] = raw
	}
	content["version"], content["scope"] = encode(runtimeVersion), encode(scope)
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return "", err
	}
	data = append(data, '\n')
	if _, _, err := parseRuntime(data); err != nil {
		return "", err
	}
	if err := writePrivate(paths[0], data); err != nil {
		return "", err
	}
	if scope == scopeProject {
		r.written = append(r.written, data)
	}
	return paths[0], nil
}

// present reads the members of a scope's file, wherever it is; none if there
// is no file. What was found untrusted is not built upon.
func present(paths []string, read reader) (map[string]json.RawMessage, error) {
	content := make(map[string]json.RawMessage)
	for _, path := range paths {
		data, trusted, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !trusted {
			return nil, fmt.Errorf("%s is there and nobody trusts it: accept or remove it first", path)
		}
		if err := json.Unmarshal(data, &content); err != nil {
			return nil, fmt.Errorf("%s is no valid JSON: correct or remove it first", path)
		}
		break
	}
	return content, nil
}

// writePrivate writes a file for its owner alone, whole or not at all.
func writePrivate(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link: nothing is written through it", dir)
	}
	f, err := os.CreateTemp(dir, ".toolsearch-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
