package toolsearch

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/statefile"
)

// searchFile is the file of the state folder that all hosts of a user add to.
const searchFile = "toolsearch-searches.json"

// failedKept is how many different queries are kept.
const failedKept = 200

// searchRecord is what searchFile holds.
type searchRecord struct {
	Version  int            `json:"version"`
	Searches int            `json:"searches"`
	Failed   []FailedSearch `json:"failed"` // the latest last
}

// add counts a failed search. Of too many the one goes that was not seen for
// longest.
func (r *searchRecord) add(f FailedSearch) {
	if i := slices.IndexFunc(r.Failed, func(o FailedSearch) bool { return o.Query == f.Query }); i >= 0 {
		f.Nothing += r.Failed[i].Nothing
		f.NoCall += r.Failed[i].NoCall
		r.Failed = slices.Delete(r.Failed, i, i+1)
	}
	r.Failed = append(r.Failed, f)
	r.Failed = slices.Delete(r.Failed, 0, max(0, len(r.Failed)-failedKept))
}

// merge adds a later record.
func (r *searchRecord) merge(later *searchRecord) {
	r.Searches += later.Searches
	for _, f := range later.Failed {
		r.add(f)
	}
}

// decodeSearches reads the file's content.
func decodeSearches(data []byte) (r searchRecord, err error) {
	if err := statefile.Decode(data, &r); err != nil {
		return r, fmt.Errorf("%w; repair or remove it", err)
	}
	r.Version = 1
	return r, nil
}

// load reads the file; one that can't be read counts as empty. mu is held.
func (g *searchLog) load() searchRecord {
	if g.path == "" {
		return searchRecord{}
	}
	data, err := statefile.Read(g.path)
	if err == nil {
		var r searchRecord
		if r, err = decodeSearches(data); err == nil {
			return r
		}
	}
	g.failed(err)
	return searchRecord{}
}

// save adds what is fresh to the file. mu is held.
func (g *searchLog) save() {
	if g.path == "" || g.broken || g.fresh.Searches == 0 && len(g.fresh.Failed) == 0 {
		return
	}
	err := statefile.Update(g.path, func(old []byte) ([]byte, error) {
		r, err := decodeSearches(old)
		if err != nil {
			return nil, err
		}
		r.merge(&g.fresh)
		data, err := json.MarshalIndent(&r, "", "  ")
		return append(data, '\n'), err
	})
	if err != nil {
		g.failed(err)
		return
	}
	g.fresh = searchRecord{}
}

// close writes what no turn's end wrote.
func (g *searchLog) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.save()
	return nil
}

// failed gives the file up. mu is held.
func (g *searchLog) failed(err error) {
	if !g.broken {
		g.broken = true
		g.c.Logger().Warn("searches that led nowhere are not kept", "file", g.path, "err", err)
	}
}

// searchPath is where the file is, "" without a state folder.
func searchPath(c *core.Context) string {
	paths, ok := core.Environment.Get(c)
	if !ok || paths.State == "" {
		return ""
	}
	return filepath.Join(paths.State, searchFile)
}
