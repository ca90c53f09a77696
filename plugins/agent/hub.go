package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// Hub provides what all agents of a host share: core.Agents, core.Models and
// core.Background. The program loads it once; see the package comment.
var Hub = core.Plugin[struct{}]{
	Name: "agents", Title: "Agents",
	Description: "Runs turns, knows the models, keeps long calls going.",
	Needs:       core.Needs(core.Sessions.Optional(), core.Environment.Optional()),
	Provides:    core.Provides(hubs, core.Agents, core.Models, core.Background),
	Apply:       func(c *core.Context, _ struct{}) error { return newHub(c).start() },
}

// hubs is how agents find the hub.
var hubs = core.NewService[*hub]("agent:hub")

// agents are the agents that are loaded.
var agents = newRoll[*agent]("agent:agent")

// hub runs turns.
type hub struct {
	c      *core.Context
	tools  toolbox
	models *registry
	local  *store
	locks  locks
	jobs   *jobs
	mail   mailbox

	mu    sync.Mutex       // guards turns
	turns map[string]*turn // those that run, by id
}

// toolbox is what the loop needs of the tool registry.
type toolbox interface {
	List(v core.Viewer) []core.Tool
	Traits(call core.Call) (core.Traits, bool)
	core.Executor
}

func newHub(c *core.Context) *hub {
	h := &hub{
		c: c, tools: c.Tools(), models: &registry{hub: c},
		local: newStore(), turns: map[string]*turn{},
	}
	h.jobs = newJobs(h)
	return h
}

func (h *hub) start() error {
	return errors.Join(
		hubs.Provide(h.c, h),
		core.Models.Provide(h.c, h.models),
		core.Background.Provide(h.c, h.jobs),
		h.watch(),
		core.MemoryClear.Around(h.c, h.forget),
		core.Agents.Provide(h.c, h),
	)
}

// List names the agents in the order of agent.yml.
func (h *hub) List() []core.AgentInfo {
	list := agents.members(h.c)
	infos := make([]core.AgentInfo, len(list))
	for i, m := range list {
		infos[i] = m.value.info()
	}
	return infos
}

// find gives the named agent, or the first.
func (h *hub) find(name string) (*member[*agent], error) {
	list := agents.members(h.c)
	if len(list) == 0 {
		return nil, errors.New("no agent is loaded: add one to the plugins of agent.yml, such as agent: {}")
	}
	if name == "" {
		return list[0], nil
	}
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.value.name
	}
	if i := slices.Index(names, name); i >= 0 {
		return list[i], nil
	}
	if near := schema.Nearest(name, names); near != "" {
		return nil, fmt.Errorf("no agent %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("no agent %q; there are %s", name, strings.Join(names, ", "))
}

// Run runs one turn to its end.
func (h *hub) Run(ctx context.Context, in core.Turn) (core.TurnResult, error) {
	var res core.TurnResult
	m, err := h.find(in.Agent)
	if err != nil {
		return res, err
	}
	err = m.use(ctx, func(ctx context.Context) error {
		return h.withStore(ctx, func(ctx context.Context, s core.SessionStore) error {
			res, err = h.turn(ctx, m, s, in)
			return err
		})
	})
	return res, err
}

// withStore calls f with the session store under a lease.
func (h *hub) withStore(ctx context.Context, f func(context.Context, core.SessionStore) error) error {
	if _, ok := core.Sessions.Get(h.c); !ok {
		return f(ctx, h.local)
	}
	return core.Sessions.Use(h.c, ctx, f)
}

// turn opens the session and runs the turn in it.
func (h *hub) turn(ctx context.Context, m *member[*agent], s core.SessionStore, in core.Turn) (core.TurnResult, error) {
	session, release, err := h.open(ctx, m.value.name, s, in)
	if err != nil {
		return core.TurnResult{}, err
	}
	defer release()
	t, err := newTurn(ctx, h, m, session, in)
	if err != nil {
		return core.TurnResult{Session: session.ID(), Agent: m.value.name}, err
	}
	h.enter(t)
	defer h.leave(t)
	return t.run(core.WithSession(withTurn(ctx, t), session))
}

// open gets the session for this turn alone.
func (h *hub) open(ctx context.Context, agent string, s core.SessionStore, in core.Turn) (core.Session, func(), error) {
	if in.Session == "" {
		session, err := s.Create(ctx, core.SessionInfo{Agent: agent, Parent: in.Parent})
		if err != nil {
			return nil, nil, err
		}
		unlock, err := h.locks.acquire(ctx, session.ID())
		if err != nil {
			return nil, nil, errors.Join(err, session.Close())
		}
		return session, h.closer(session, unlock), nil
	}
	id, err := lastID(ctx, s, in.Session)
	if err != nil {
		return nil, nil, err
	}
	for t := turnOf(ctx); t != nil; t = t.caller {
		if t.session.ID() == id {
			return nil, nil, fmt.Errorf("session %s is in the turn that asks for another one", id)
		}
	}
	unlock, err := h.locks.acquire(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	session, err := h.reopen(ctx, s, id)
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return session, h.closer(session, unlock), nil
}

// reopen opens a session that exists. One that began before the store was
// there goes on in the process.
func (h *hub) reopen(ctx context.Context, s core.SessionStore, id string) (core.Session, error) {
	session, err := s.Open(ctx, id)
	if errors.Is(err, core.ErrSessionUnknown) && h.local.has(id) {
		return h.local.Open(ctx, id)
	}
	return session, err
}

func (h *hub) closer(s core.Session, unlock func()) func() {
	return func() {
		if err := s.Close(); err != nil {
			h.c.Logger().Error("closing a session", "session", s.ID(), "error", err)
		}
		unlock()
	}
}

// lastID resolves "last", which has to be known before waiting for a lock.
func lastID(ctx context.Context, s core.SessionStore, id string) (string, error) {
	if id != "last" {
		return id, nil
	}
	infos, err := s.List(ctx)
	if err != nil {
		return "", err
	}
	if len(infos) == 0 {
		return "", fmt.Errorf("%w: there is none yet", core.ErrSessionUnknown)
	}
	return infos[0].ID, nil
}

func (h *hub) enter(t *turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns[t.id] = t
}

func (h *hub) leave(t *turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.turns, t.id)
}

// running gives the turn with this id, nil if it is over.
func (h *hub) running(id string) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns[id]
}

// inSession gives the turn that runs in a session, nil if there is none.
func (h *hub) inSession(session string) *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.turns {
		if t.session.ID() == session {
			return t
		}
	}
	return nil
}

// locks let one turn after the other into a session, in the order of asking.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	free  chan struct{} // holds one token while nobody has the lock
	users int           // who has it or waits; guarded by locks.mu
}

// acquire waits for the lock of a name. release gives it back, once.
func (l *locks) acquire(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	k := l.held[name]
	if k == nil {
		k = &lock{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		if l.held == nil {
			l.held = map[string]*lock{}
		}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	select {
	case <-k.free:
		return func() { k.free <- struct{}{}; l.drop(name, k) }, nil
	case <-ctx.Done():
		l.drop(name, k)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) drop(name string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, name)
	}
}

var _ core.AgentRunner = (*hub)(nil)
