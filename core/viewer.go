package core

import "github.com/agentd-host/agentd/core/llm"

// Viewer says who asks for tools. The zero value is the host itself: nobody's
// agent, no session, no group.
//
// A viewer also carries the place that it looks from: filters from the root
// down to there narrow what it sees. [Context.Viewer] sets it; a viewer made
// by hand looks from the context that it is used with.
type Viewer struct {
	Agent   string
	Session string
	User    string
	Groups  []string
	// Parent is the session that a sub-agent's session began in: its person
	// is the one who is asked. See [Viewer.Asks].
	Parent string

	at *Context
}

// Asks names the session whose person answers questions on behalf of this
// viewer.
func (v Viewer) Asks() string {
	if v.Parent != "" {
		return v.Parent
	}
	return v.Session
}

// Viewer returns v looking from this context. An agent calls it once for each
// turn and hands the result to whatever acts on its behalf.
func (c *Context) Viewer(v Viewer) Viewer {
	v.at = c
	return v
}

// Path names the place that the viewer looks from, "root/group:x/agent:y";
// empty for a viewer made by hand.
func (v Viewer) Path() string {
	if v.at == nil {
		return ""
	}
	return v.at.Fiber().Path()
}

// LLM is the viewer as plain data, for a request.
func (v Viewer) LLM() llm.Viewer {
	return llm.Viewer{Agent: v.Agent, Session: v.Session, User: v.User, Groups: v.Groups}
}
