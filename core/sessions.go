package core

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentd-host/agentd/core/llm"
)

// SessionEvent is one entry of a session's append-only log.
type SessionEvent struct {
	Seq  int64           `json:"seq"` // set by Append, from 1
	Time time.Time       `json:"time"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// The kinds of events that core knows. Plugins add their own, named
// "<plugin>:<kind>".
const (
	EventMessage  = "message"  // an llm.Message
	EventSummary  = "summary"  // a Summary
	EventApproval = "approval" // a question and its answer
	EventCleared  = "cleared"  // a ClearRequest that was carried out
)

// Summary is the data of an [EventSummary]: the text stands for the messages
// up to and with the event Through.
type Summary struct {
	Text    string `json:"text"`
	Through int64  `json:"through"`
}

// Check tells whether the data is what an event of its kind has to hold, for
// the kinds that a conversation is made of.
func (ev SessionEvent) Check() error {
	var err error
	switch ev.Kind {
	case EventMessage:
		err = checkMessage(ev.Data)
	case EventSummary:
		err = json.Unmarshal(ev.Data, new(Summary))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ev.Kind, err)
	}
	return nil
}

func checkMessage(data json.RawMessage) error {
	var m llm.Message
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	switch m.Role {
	case llm.User, llm.Assistant, llm.ToolRole:
	default:
		return fmt.Errorf("want the role user, assistant or tool, got %q", m.Role)
	}
	for _, p := range m.Parts {
		if p.Kind == llm.ToolCallPart && p.Call == nil || p.Kind == llm.ToolResultPart && p.Result == nil {
			return fmt.Errorf("a part %s without its content", p.Kind)
		}
	}
	return nil
}

// SessionInfo describes a session in a list.
type SessionInfo struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent,omitempty"`
	Title   string    `json:"title,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Events  int64     `json:"events"`
	Parent  string    `json:"parent,omitempty"` // of a fork or a sub-agent
}

// The errors of sessions.
var (
	ErrSessionUnknown = errors.New("no such session")
	ErrSessionBusy    = errors.New("another process or turn writes to this session")
)

// Session is one open session. One writer at a time; methods may be called
// from several goroutines.
type Session interface {
	ID() string
	// Append writes events; when it returns nil they survive a crash.
	Append(ctx context.Context, events ...SessionEvent) error
	// Events returns all events in order. The slice is the caller's.
	Events(ctx context.Context) ([]SessionEvent, error)
	// Close gives up the right to write. It is idempotent.
	Close() error
}

// SessionStore keeps sessions.
type SessionStore interface {
	// Create begins a session; an empty id gets a new one.
	Create(ctx context.Context, info SessionInfo) (Session, error)
	// Open opens one for writing: ErrSessionUnknown, ErrSessionBusy. The id
	// "last" is the one that was updated last.
	Open(ctx context.Context, id string) (Session, error)
	// Read returns the events of a session without opening it.
	Read(ctx context.Context, id string) ([]SessionEvent, error)
	List(ctx context.Context) ([]SessionInfo, error)
	// Fork copies the events up to and with seq (0 = all) into a new session.
	Fork(ctx context.Context, id string, seq int64) (SessionInfo, error)
	// Delete is the innermost part of memory:clear. Call [MemoryClear]
	// instead.
	Delete(ctx context.Context, r ClearRequest) (ClearReport, error)
	// Durable tells whether sessions outlive the process.
	Durable() bool
}

// SessionPorter is a SessionStore that moves sessions in and out, as JSON
// lines.
type SessionPorter interface {
	// Export writes a session: a header, then its events. "last" works.
	Export(ctx context.Context, id string, w io.Writer) error
	// Import reads what Export wrote into a new session, all or nothing, and
	// keeps its id if that is free.
	Import(ctx context.Context, r io.Reader) (SessionInfo, error)
}

// SessionKeeper is a SessionStore with a file to look after.
type SessionKeeper interface {
	// Prune deletes the sessions last used before a time and lists them; with
	// dry it only lists them. Open ones stay.
	Prune(ctx context.Context, before time.Time, dry bool) ([]SessionInfo, error)
	// Backup writes a consistent copy to a file that must not exist.
	Backup(ctx context.Context, file string) error
	// Compact gives back the space of what was deleted.
	Compact(ctx context.Context) error
}

// Sessions is the service of the SessionStore.
var Sessions = NewService[SessionStore]("sessions")

type sessionKey struct{}

// WithSession returns a context that carries the open session of a turn. The
// agent loop sets it for everything that it calls: surface handlers,
// llm:before, tools and the events around them.
func WithSession(ctx context.Context, s Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionFrom gives the open session of the turn that ctx belongs to. It is
// the way for a plugin to keep something in the session while the turn holds
// the right to write: append an event of a kind of one's own and read it back
// from Events in a later turn.
func SessionFrom(ctx context.Context) (Session, bool) {
	s, ok := ctx.Value(sessionKey{}).(Session)
	return s, ok
}

// titleRunes is how much of the first message names a session in a list.
const titleRunes = 60

// SessionTitle is the title that an event gives to a session that has none:
// the first line of what a person wrote.
func SessionTitle(ev SessionEvent) string {
	if ev.Kind != EventMessage {
		return ""
	}
	var m llm.Message
	if json.Unmarshal(ev.Data, &m) != nil || m.Role != llm.User {
		return ""
	}
	title, _, _ := strings.Cut(strings.TrimSpace(m.Text()), "\n")
	if utf8.RuneCountInString(title) > titleRunes {
		title = string([]rune(title)[:titleRunes-1]) + "…"
	}
	return title
}

// NewSessionID makes an id that sorts by time: 20260131-091500-k3v9qdx2.
func NewSessionID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:8])
}
