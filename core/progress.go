package core

import "strconv"

// Progress says how far a call has come. Total 0 means unknown.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

// String tells it in a few words: "3 of 10: message".
func (p Progress) String() string {
	done := strconv.FormatFloat(p.Done, 'f', -1, 64)
	switch {
	case p.Total > 0:
		done += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
	case p.Message != "":
		return p.Message
	}
	if p.Message == "" {
		return done
	}
	return done + ": " + p.Message
}

// ToolProgressed is what [ToolProgress] carries.
type ToolProgressed struct {
	Call     Call
	Progress Progress
}

// ToolProgress is emitted while a call runs, as often as its tool has
// something to say.
var ToolProgress = NewEvent[ToolProgressed]("tool:progress")

// Progress tells those who watch the call, and its [Caller], how far it has
// come.
func (i *Invocation) Progress(p Progress) {
	if i.run == nil {
		return
	}
	h := i.run.x.h
	if err := ToolProgress.Emit(h.root, ToolProgressed{i.Call, p}); err != nil {
		h.root.Logger().Warn("tool progress", "tool", i.Name, "err", err)
	}
	if i.caller != nil {
		i.caller.Tell(p)
	}
}
