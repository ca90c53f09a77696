package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/internal/statefile"
)

// What we remember about a server between runs: the era that it speaks, so
// that it is not probed again, and its last lists, which stand in until the
// server is there. It is not changed, only replaced.
type remembered struct {
	Identity string             `json:"identity"` // of the entry that it was learnt from
	Era      string             `json:"era,omitempty"`
	Tools    rawList            `json:"tools,omitempty"`
	Lists    map[string]rawList `json:"lists,omitempty"` // the others, by key
}

// recalled is what is remembered now.
func (s *server) recalled() remembered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory
}

// remember changes what is remembered and keeps it for the next run. That it
// can't be kept is no failure.
func (s *server) remember(change func(*remembered)) {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	change(&s.memory)
	r := s.memory
	s.mu.Unlock()
	if err := r.save(s.memoryFile); err != nil {
		s.log.Warn("MCP server's lists are not kept for the next start", "server", s.name, "err", err)
	}
}

// A rawList is the entries of a list as received. They are kept as texts: what
// is JSON would be written in another form, and not be the same any more.
type rawList []json.RawMessage

// equal tells whether two lists are the same byte by byte.
func (l rawList) equal(m rawList) bool {
	return slices.EqualFunc(l, m, func(a, b json.RawMessage) bool { return string(a) == string(b) })
}

// MarshalJSON writes a list of texts.
func (l rawList) MarshalJSON() ([]byte, error) {
	texts := make([]string, len(l))
	for i, raw := range l {
		texts[i] = string(raw)
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads a list of texts.
func (l *rawList) UnmarshalJSON(data []byte) error {
	var texts []string
	if err := json.Unmarshal(data, &texts); err != nil {
		return err
	}
	*l = make(rawList, len(texts))
	for i, text := range texts {
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("entry %d is no JSON", i)
		}
		(*l)[i] = json.RawMessage(text)
	}
	return nil
}

// identity tells whether two entries start the same server: same program,
// arguments, folder, variables by name; or same address.
func (c ServerConfig) identity() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", c.Command, c.Args, c.Cwd, c.URL, c.Type, slices.Sorted(maps.Keys(c.Env)))
	return hex.EncodeToString(h.Sum(nil))
}

// memoryFile is where a server is remembered, empty if nothing is kept.
func memoryFile(state, server string) string { return stateName(state, "servers", server) }

// stateName is the file of a kind for a server, empty if nothing is kept. What
// else tells it from others of its name goes into the hash.
func stateName(state, kind, server string, more ...string) string {
	if state == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{server}, more...), "\x00")))
	name := fmt.Sprintf("%.40s-%s.json", strings.Trim(clean(server), "_"), hex.EncodeToString(sum[:4]))
	return filepath.Join(state, "mcp", kind, name)
}

// recall reads what is remembered of this very entry. A file that can't be
// read is as good as none: it is only a cache.
func recall(file string, c ServerConfig) remembered {
	var r remembered
	if file == "" || readState(file, &r) != nil || r.Identity != c.identity() {
		return remembered{Identity: c.identity()}
	}
	return r
}

func (r remembered) save(file string) error {
	if file == "" {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return statefile.WriteCache(file, data)
}
