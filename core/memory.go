package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// ClearRequest asks for memory to be cleared.
type ClearRequest struct {
	// All clears every session, else Session alone.
	All     bool
	Session string
	// Types are kinds of memory: messages, images, summaries, jobs, or a
	// plugin's own. Empty = everything.
	Types []string
}

// Wants tells whether a kind of memory is to be cleared.
func (r ClearRequest) Wants(kind string) bool {
	if len(r.Types) == 0 {
		return true
	}
	for _, t := range r.Types {
		if t == kind {
			return true
		}
	}
	return false
}

// ClearReport says what was cleared, by kind.
type ClearReport map[string]int

// MemoryClear clears memory. The deletion is the innermost function; a
// handler does its own part after next succeeded.
var MemoryClear = NewHook[ClearRequest, ClearReport]("memory:clear")

// The kinds of memory that [ClearRequest.Types] can name, beside the names of
// plugins.
const (
	MemoryMessages  = "messages"
	MemoryImages    = "images" // within messages, which stay
	MemorySummaries = "summaries"
	MemoryJobs      = "jobs"
)

// Covers tells whether an event of a session's log is to be deleted, and as
// which kind of memory it counts. What a plugin keeps in a session goes with
// the messages or by the plugin's own name.
func (r ClearRequest) Covers(eventKind string) (kind string, ok bool) {
	plugin, own, found := strings.Cut(eventKind, ":")
	switch {
	case eventKind == EventCleared:
		return "", false
	case eventKind == EventSummary:
		kind = MemorySummaries
	case plugin == "agent" && own == "job":
		kind = MemoryJobs
	case plugin == "agent" || !found:
		kind = MemoryMessages
	default:
		return plugin, r.Wants(plugin) || r.Wants(MemoryMessages)
	}
	return kind, r.Wants(kind)
}

// ClearMemory clears memory: the handlers of [MemoryClear] around the store's
// deletion. ctx is a [Context] or derived from one.
func ClearMemory(ctx context.Context, s SessionStore, r ClearRequest) (ClearReport, error) {
	if !r.All && r.Session == "" {
		return nil, errors.New("clearing memory: name a session, or ask for all of them")
	}
	if r.Session == "last" { // handlers know sessions by their ids
		infos, err := s.List(ctx)
		if err != nil {
			return nil, err
		}
		if len(infos) == 0 {
			return nil, fmt.Errorf("%w: there is none yet", ErrSessionUnknown)
		}
		r.Session = infos[0].ID
	}
	return MemoryClear.Run(ctx, r, s.Delete)
}

// WithoutImages takes the images out of the data of an [EventMessage] and says
// how many there were. Data that holds none, or is no message, comes back as
// it is.
func WithoutImages(data json.RawMessage) (json.RawMessage, int) {
	var m llm.Message
	if json.Unmarshal(data, &m) != nil {
		return data, 0
	}
	n := dropImages(m.Parts)
	if n == 0 {
		return data, 0
	}
	out, err := json.Marshal(m)
	if err != nil {
		return data, 0
	}
	return out, n
}

func dropImages(parts []llm.Part) int {
	n := 0
	for i, p := range parts {
		if p.Kind == llm.ImagePart {
			parts[i] = llm.Part{Kind: llm.TextPart, Name: p.Name, Text: "[image cleared]"}
			n++
		}
		if p.Result != nil {
			n += dropImages(p.Result.Parts)
		}
	}
	return n
}
