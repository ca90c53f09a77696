package core

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/agentd-host/agentd/core/llm"
)

// Turn is one message to an agent.
type Turn struct {
	// Agent by name; empty: the only one, or the first of agent.yml.
	Agent string
	// Session to go on with; empty: a new one.
	Session string
	User    string
	Message llm.Message
	// Parent is set for a sub-agent: questions go through this session.
	Parent string
	Depth  int
	// Watch is called for each event of the turn, one at a time and in order;
	// it should return soon.
	Watch func(AgentEvent)
}

// TurnResult says how a turn ended. The session stays usable whatever the
// reason.
type TurnResult struct {
	Session string        `json:"session"`
	Agent   string        `json:"agent"`
	Model   string        `json:"model"`
	Text    string        `json:"text"`
	Stop    StopReason    `json:"stop"`
	Detail  string        `json:"detail,omitempty"` // which budget, which tool
	Steps   int           `json:"steps"`
	Usage   llm.Usage     `json:"usage"`
	Cost    float64       `json:"cost,omitempty"` // by the configured prices
	Elapsed time.Duration `json:"-"`              // elapsedMs in JSON, in milliseconds
	// Denied names tools that were refused because nobody could be asked.
	Denied []string `json:"denied,omitempty"`
}

// MarshalJSON writes Elapsed as elapsedMs, in milliseconds.
func (r TurnResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(turnResultJSON{turnResult(r), millis(r.Elapsed)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *TurnResult) UnmarshalJSON(raw []byte) error {
	var in turnResultJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*r = TurnResult(in.turnResult)
	r.Elapsed = duration(in.ElapsedMs)
	return nil
}

type (
	turnResult     TurnResult // without its methods
	turnResultJSON struct {
		turnResult
		ElapsedMs float64 `json:"elapsedMs"`
	}
)

// millis is a duration in milliseconds, exact to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func duration(millis float64) time.Duration {
	return time.Duration(math.Round(millis*1000)) * time.Microsecond
}

// StopReason names why a turn ended.
type StopReason string

// The reasons for a turn's end.
const (
	StopDone      StopReason = "done"
	StopSteps     StopReason = "steps"
	StopWall      StopReason = "wall"
	StopTokens    StopReason = "tokens"
	StopRepeats   StopReason = "repeats"
	StopPerson    StopReason = "stopped" // a person answered stop
	StopCancelled StopReason = "cancelled"
	StopMissing   StopReason = "missing_tool"
	StopDepth     StopReason = "depth"
	StopError     StopReason = "error"
)

// AgentEventKind names what happened in a turn.
type AgentEventKind string

// The kinds of agent events.
const (
	AgentTurn         AgentEventKind = "turn"      // Session, Agent, Model
	AgentStep         AgentEventKind = "step"      // Step, Tools: how many are shown
	AgentText         AgentEventKind = "text"      // Text
	AgentReasoning    AgentEventKind = "reasoning" // Text
	AgentReset        AgentEventKind = "reset"     // drop this step's text; Text says why
	AgentWarning      AgentEventKind = "warning"   // Text
	AgentCallAsked    AgentEventKind = "call_asked"
	AgentCallApproved AgentEventKind = "call_approved"
	AgentCallDenied   AgentEventKind = "call_denied"
	AgentCallStarted  AgentEventKind = "call_started"
	AgentCallProgress AgentEventKind = "call_progress"
	AgentCallFinished AgentEventKind = "call_finished"
	AgentUsage        AgentEventKind = "usage"     // Usage of the step
	AgentCompacted    AgentEventKind = "compacted" // Text
	AgentJob          AgentEventKind = "job"       // a background job ended
	AgentFinish       AgentEventKind = "finish"    // Result
)

// AgentEvent is one step in the life of a turn. Terminal, HTTP and tests see
// the same stream.
type AgentEvent struct {
	Kind     AgentEventKind `json:"kind"`
	Time     time.Time      `json:"time"`
	Agent    string         `json:"agent,omitempty"`
	Session  string         `json:"session,omitempty"`
	Turn     string         `json:"turn,omitempty"`
	Model    string         `json:"model,omitempty"`
	Step     int            `json:"step,omitempty"`
	Tools    int            `json:"tools,omitempty"`
	Text     string         `json:"text,omitempty"`
	CallID   string         `json:"callId,omitempty"`
	Tool     string         `json:"tool,omitempty"`
	Args     string         `json:"args,omitempty"`
	Render   string         `json:"render,omitempty"` // the tool's short view
	Code     ErrorCode      `json:"code,omitempty"`
	Duration time.Duration  `json:"-"` // durationMs in JSON, in milliseconds
	Usage    *llm.Usage     `json:"usage,omitempty"`
	Result   *TurnResult    `json:"result,omitempty"`
}

// MarshalJSON writes Duration as durationMs, in milliseconds.
func (e AgentEvent) MarshalJSON() ([]byte, error) {
	return json.Marshal(agentEventJSON{agentEvent(e), millis(e.Duration)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *AgentEvent) UnmarshalJSON(raw []byte) error {
	var in agentEventJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*e = AgentEvent(in.agentEvent)
	e.Duration = duration(in.DurationMs)
	return nil
}

type (
	agentEvent     AgentEvent // without its methods
	agentEventJSON struct {
		agentEvent
		DurationMs float64 `json:"durationMs,omitempty"`
	}
)

// AgentEvents carries every event of every turn on the host's bus.
var AgentEvents = NewEvent[AgentEvent]("agent:event")

// AgentInfo describes an agent in a list.
type AgentInfo struct {
	Name  string `json:"name"`
	Model string `json:"model"` // as configured
	// Viewer is how the agent sees tools, for those who list them for it.
	Viewer Viewer `json:"-"`
}

// AgentRunner runs turns. Safe for concurrent use; turns of one session run
// one after the other.
type AgentRunner interface {
	// Run runs one turn to its end. The error is of the kind that no turn
	// could begin or the model failed for good; budgets and refusals are in
	// the result. A cancelled ctx ends the turn with StopCancelled.
	Run(ctx context.Context, t Turn) (TurnResult, error)
	// List names the agents in the order of agent.yml.
	List() []AgentInfo
	// Clear runs [MemoryClear] with the session store in use.
	Clear(ctx context.Context, r ClearRequest) (ClearReport, error)
}

// Agents is the service of the AgentRunner.
var Agents = NewService[AgentRunner]("agents")
