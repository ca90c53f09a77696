package mcp

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// foldedNames are the names of all tools of the registry by what they are
// without regard to case, made once for each of its versions. The zero value
// is ready for use, by many goroutines.
type foldedNames struct {
	mu      sync.Mutex // guards the fields below
	version uint64
	names   map[string][]string
}

// like gives those of names that differ from another one, among them or in the
// registry, in case only, with the others.
func (f *foldedNames) like(registry *core.Tools, names iter.Seq[string]) map[string][]string {
	all := f.of(registry)
	own := map[string][]string{}
	for name := range names {
		key := strings.ToLower(name)
		own[key] = append(own[key], name)
	}
	alike := map[string][]string{}
	for key, same := range own {
		same = slices.Concat(same, all[key])
		slices.Sort(same)
		same = slices.Compact(same)
		if len(same) == 1 {
			continue
		}
		for _, name := range own[key] {
			alike[name] = slices.DeleteFunc(slices.Clone(same), func(s string) bool { return s == name })
		}
	}
	return alike
}

func (f *foldedNames) of(registry *core.Tools) map[string][]string {
	version := registry.Version()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names != nil && f.version == version {
		return f.names
	}
	names := map[string][]string{}
	for _, e := range registry.All() {
		key := strings.ToLower(e.Name)
		names[key] = append(names[key], e.Name)
	}
	f.version, f.names = version, names
	return names
}
