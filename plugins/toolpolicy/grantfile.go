package toolpolicy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentd-host/agentd/internal/statefile"
)

// grantFile is the file's form.
type grantFile struct {
	Version int                          `json:"version"`
	Seq     uint64                       `json:"seq"`
	Grants  []*Grant                     `json:"grants"`
	Asking  map[string]map[string]uint64 `json:"asking,omitempty"` // by config, by rule
}

// readGrants decodes and checks a file's content.
func readGrants(data []byte) (*grantFile, error) {
	f := &grantFile{Version: 1, Asking: map[string]map[string]uint64{}}
	if err := statefile.Decode(data, f); err != nil {
		return nil, err
	}
	for _, g := range f.Grants {
		if g == nil {
			return nil, errors.New("a grant is null")
		}
		var err error
		if g.compiled, err = parsePattern(g.Pattern); err != nil {
			return nil, err
		}
	}
	if f.Asking == nil {
		f.Asking = map[string]map[string]uint64{}
	}
	return f, nil
}

func (f *grantFile) remove(id string) error {
	has := func(grant *Grant) bool { return grant.ID == id }
	if !slices.ContainsFunc(f.Grants, has) {
		return fmt.Errorf("%w: %q", ErrNoGrant, id)
	}
	f.Grants = slices.DeleteFunc(f.Grants, has)
	return nil
}

// savedGrants lists what a file holds. A missing file holds none.
func savedGrants(path string) ([]Grant, error) {
	data, err := statefile.Read(path)
	if err != nil {
		return nil, err
	}
	f, err := readGrants(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	list := make([]Grant, len(f.Grants))
	for i, grant := range f.Grants {
		list[i] = *grant
	}
	return list, nil
}
