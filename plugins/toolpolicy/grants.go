package toolpolicy

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/statefile"
)

// ErrNoGrant is returned when there is no grant of that id.
var ErrNoGrant = errors.New("no grant has this id")

// grants keeps answers: those for a turn or a session in memory, those for
// always and never in a file that other processes may change too. Every look
// first sees whether the file changed, so that a revocation holds at once.
//
// A grant settles only what asked before it was given: the file also notes
// when each rule that asks was first seen, and a newer rule shadows the grant.
type grants struct {
	path   string
	config string
	now    func() time.Time

	mu      sync.Mutex // guards the fields below
	stamp   statefile.Stamp
	saved   []*Grant
	asking  map[string]uint64 // rules that ask, with their place in the order
	seq     uint64
	session map[string][]*Grant
}

// maxUnsaved is how many grants one session may hold in memory; the oldest
// then give way.
const maxUnsaved = 256

// openGrants reads the grants file. One that can't be read is an error: a
// "never" in it must not be forgotten in silence.
func openGrants(path, config string) (*grants, error) {
	g := &grants{path: path, config: config, now: time.Now, session: map[string][]*Grant{}, asking: map[string]uint64{}}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g, g.refresh()
}

// refresh reads the file if it is another one than last time. mu is held.
func (g *grants) refresh() error {
	now := statefile.StampOf(g.path)
	if g.stamp.Same(now) && (now.Exists() || g.saved == nil) {
		return nil
	}
	data, err := statefile.Read(g.path)
	if err != nil {
		return err
	}
	f, err := readGrants(data)
	if err != nil {
		return fmt.Errorf("%s: %w; repair or remove it", g.path, err)
	}
	g.take(f)
	g.stamp = now
	return nil
}

// take makes the file's content the current one. mu is held.
func (g *grants) take(f *grantFile) {
	g.saved = nil
	for _, grant := range f.Grants {
		if grant.Config == g.config {
			g.saved = append(g.saved, grant)
		}
	}
	g.seq = max(g.seq, f.Seq)
	for rule, seq := range f.Asking[g.config] {
		g.asking[rule] = max(g.asking[rule], seq)
	}
}

// update changes the file and takes over what it then holds. mu is held.
func (g *grants) update(change func(*grantFile) error) error {
	err := statefile.Update(g.path, func(old []byte) ([]byte, error) {
		f, err := readGrants(old)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; repair or remove it", g.path, err)
		}
		f.Seq = max(f.Seq, g.seq)
		if err := change(f); err != nil {
			return nil, err
		}
		data, err := json.MarshalIndent(f, "", "  ")
		return append(data, '\n'), err
	})
	if err != nil {
		return err
	}
	return g.refresh()
}

// askedBy takes note of the rules that ask now. One that was not among them
// before is newer than every grant so far.
func (g *grants) askedBy(rules []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.refresh(); err != nil {
		return err
	}
	if len(rules) == len(g.asking) && !slices.ContainsFunc(rules, g.unknown) {
		return nil
	}
	g.seq++
	noted := make(map[string]uint64, len(rules))
	for _, rule := range rules {
		noted[rule] = g.seq
		if seq, known := g.asking[rule]; known {
			noted[rule] = seq
		}
	}
	g.asking = noted
	return g.update(func(f *grantFile) error {
		f.Asking[g.config] = noted
		return nil
	})
}

func (g *grants) unknown(rule string) bool {
	_, known := g.asking[rule]
	return !known
}

// add keeps an answer to a question: in memory for a turn or a session, in
// the file for always and never. Other answers are not kept.
func (g *grants) add(a core.Approval, ans core.Answer) error {
	if ans.Kind == core.AnswerTurn && a.Turn == "" || ans.Kind == core.AnswerSession && a.Session == "" {
		return nil // callers without a turn or session do not share one
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var made []*Grant
	for _, s := range answerScopes(a, ans) {
		p, err := parsePattern(s.pattern)
		if err != nil {
			return err
		}
		grant := &Grant{ID: grantID(), Tool: a.Tool, Pattern: s.pattern, With: s.with, Allow: ans.Kind.Allows(),
			When: g.now().UTC().Truncate(time.Second), By: ans.By, Rule: a.Rule, Config: g.config,
			Session: a.Session, compiled: p}
		made = append(made, grant)
	}
	switch ans.Kind {
	case core.AnswerTurn, core.AnswerSession:
		for _, grant := range made {
			grant.Seq = g.seq
			if ans.Kind == core.AnswerTurn {
				grant.Turn = a.Turn
			}
		}
		kept := append(g.session[a.Session], made...)
		g.session[a.Session] = kept[max(0, len(kept)-maxUnsaved):]
		return nil
	case core.AnswerAlways, core.AnswerNever:
		return g.update(func(f *grantFile) error {
			f.Seq++
			for _, grant := range made {
				grant.Seq, grant.Session = f.Seq, ""
				f.Grants = append(f.Grants, grant)
			}
			return nil
		})
	}
	return nil
}

func grantID() string { return rand.Text()[:10] }

// look returns what grants say about a call that rule asks about. refused: a
// "never" speaks about it. by: the grant that lets it run.
func (g *grants) look(q *inquiry, session, turn, rule string, auto func(core.Permission) bool) (by *Grant, refused *Grant, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// What was read last still holds when the file can't be read now; no
	// saved grant lets anything run then.
	err = g.refresh()
	for _, grant := range g.saved {
		if grant.refuses(q) {
			return nil, grant, err
		}
	}
	if rule == "" {
		return nil, nil, err
	}
	var valid []*Grant
	for _, grant := range g.inTurn(session, turn) {
		if g.settles(grant, rule) {
			valid = append(valid, grant)
		}
	}
	if err == nil {
		for _, grant := range g.saved {
			if g.settles(grant, rule) {
				valid = append(valid, grant)
			}
		}
	}
	return covered(valid, q, auto), nil, err
}

// settles reports whether a grant counts against a rule that asks. A rule
// from the configuration has to be older; what a plugin asks about is settled
// only by a grant that answered that same question. mu is held.
func (g *grants) settles(grant *Grant, rule string) bool {
	if seq, configured := g.asking[rule]; configured {
		return seq <= grant.Seq
	}
	return grant.Rule == rule
}

// inTurn returns the unsaved grants that hold in a turn of a session. mu is
// held.
func (g *grants) inTurn(session, turn string) []*Grant {
	var holding []*Grant
	for _, grant := range g.session[session] {
		if grant.Turn == "" || grant.Turn == turn {
			holding = append(holding, grant)
		}
	}
	return holding
}

// list returns all grants, the saved ones of every configuration first, in
// the order in which they were given.
func (g *grants) list() ([]Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.refresh(); err != nil {
		return nil, err
	}
	all, err := savedGrants(g.path)
	if err != nil {
		return nil, err
	}
	sessions := make([]string, 0, len(g.session))
	for s := range g.session {
		sessions = append(sessions, s)
	}
	slices.Sort(sessions)
	for _, s := range sessions {
		for _, grant := range g.session[s] {
			all = append(all, *grant)
		}
	}
	return all, nil
}

// shadowed reports whether a grant does not count against a rule that asks.
func (g *grants) shadowed(grant *Grant, rule string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.settles(grant, rule)
}

// revoke takes a grant away, wherever it is kept.
func (g *grants) revoke(id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	has := func(grant *Grant) bool { return grant.ID == id }
	for session, kept := range g.session {
		if slices.ContainsFunc(kept, has) {
			g.session[session] = slices.DeleteFunc(kept, has)
			return nil
		}
	}
	return g.update(func(f *grantFile) error { return f.remove(id) })
}
