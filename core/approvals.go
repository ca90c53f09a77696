package core

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Approval is a question to a person: may this call run?
type Approval struct {
	ID          string          `json:"id"` // set by the broker
	Tool        string          `json:"tool"`
	Source      Source          `json:"source"`
	Effect      Effect          `json:"effect"`
	Args        json.RawMessage `json:"args"`
	Digest      string          `json:"digest"`
	Permissions []Permission    `json:"permissions,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	Agent       string          `json:"agent,omitempty"`
	Session     string          `json:"session,omitempty"`
	User        string          `json:"user,omitempty"`
	Turn        string          `json:"turn,omitempty"`
	// Answers are those that this question takes.
	Answers []AnswerKind `json:"answers"`
	// Saved is where "always" and "never" would be kept.
	Saved   string    `json:"saved,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// AnswerKind names what a person can say.
type AnswerKind string

// The answers. Turn and session settle equal questions that wait; always and
// never are saved; stop rejects what the turn has not begun.
const (
	AnswerOnce    AnswerKind = "once"
	AnswerTurn    AnswerKind = "turn"
	AnswerSession AnswerKind = "session"
	AnswerAlways  AnswerKind = "always"
	AnswerReject  AnswerKind = "reject"
	AnswerNever   AnswerKind = "never"
	AnswerStop    AnswerKind = "stop"
)

// Allows tells whether the answer lets the call run.
func (k AnswerKind) Allows() bool {
	switch k {
	case AnswerOnce, AnswerTurn, AnswerSession, AnswerAlways:
		return true
	}
	return false
}

// Answer is what a person said.
type Answer struct {
	Kind AnswerKind `json:"kind"`
	Text string     `json:"text,omitempty"` // for the model
	By   string     `json:"by,omitempty"`   // who, and through what
	// Pattern narrows "always" and "never" to arguments; empty: this tool
	// with these arguments' pattern as the question stated it.
	Pattern string `json:"pattern,omitempty"`
}

// The errors of approvals.
var (
	ErrNobodyToAsk     = errors.New("nobody can be asked")
	ErrApprovalExpired = errors.New("no answer in time")
	ErrApprovalUnknown = errors.New("no such question is open")
	ErrApprovalSettled = errors.New("the question was answered already")
	ErrDigestMismatch  = errors.New("the answer is for other arguments")
)

// Broker brings questions to people and answers back. One queue a session,
// first in first out; one winner for each question. Safe for concurrent use.
type Broker interface {
	// Request asks and waits. It fails at once with ErrNobodyToAsk when no
	// asker takes the question, with ErrApprovalExpired without an answer in
	// time, and withdraws the question when ctx ends.
	Request(ctx context.Context, a Approval) (Answer, error)
	// Answer settles an open question. Both id and digest must fit.
	Answer(id, digest string, a Answer) error
	// Pending lists open questions, oldest first; session "" = all of them.
	Pending(session string) []Approval
	// AddAsker registers a way to reach a person, as an effect of c's fiber.
	AddAsker(c *Context, a Asker) error
	// Ask puts a free question (ask_user, elicitation) to the session's
	// person. It fails with ErrNobodyToAsk like Request.
	Ask(ctx context.Context, q Question) (Reply, error)
}

// Asker reaches a person: a terminal, a command, a webhook, a console.
// Methods may be called from several goroutines.
type Asker interface {
	Name() string
	// Takes tells whether somebody is there for this session now.
	Takes(session string) bool
	// Ask shows the question and waits. ctx ends when it was settled
	// elsewhere, expired or withdrawn: stop showing it then.
	Ask(ctx context.Context, a Approval) (Answer, error)
}

// Questioner is an Asker that can put free questions as well.
type Questioner interface {
	Asker
	Question(ctx context.Context, q Question) (Reply, error)
}

// Question is a free question to a person.
type Question struct {
	Session string          `json:"session,omitempty"`
	From    string          `json:"from"` // the tool or server that asks
	Text    string          `json:"text"`
	Choices []string        `json:"choices,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // of Reply.Data, if wanted
}

// Reply answers a Question. Declined: the person would not say.
type Reply struct {
	Text     string          `json:"text,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Declined bool            `json:"declined,omitempty"`
}

// Approvals is the service of the Broker.
var Approvals = NewService[Broker]("approvals")

// ApprovalAsked is emitted by the broker when a question was put to an asker,
// before it waits for the answer.
var ApprovalAsked = NewEvent[Approval]("approval:asked")
