// Package toolsearch shows a model the few tools that matter of the many that
// there are, and lets it find, read and call the rest.
//
// The plugin rewrites the surface of each step, after all others did
// ([core.ToolSurface]). While there are few tools they pass as they are. With
// more, most are deferred: the model reads their names in a listing, or only
// how many there are, and gets tools to find them (tool_search), to read them
// (tool_describe) and to run them (tool_call). What a session has found is
// warm: it is shown from then on, the least recently used giving way.
//
//	plugins:
//	  toolsearch: {maxDirectTools: 20, alwaysDirectTools: [read_file, "calendar_*"]}
//
// One catalogue a step, in catalogue.go, says which tools the viewer can see;
// whatever names, counts, finds or runs a tool goes by it. split.go divides it
// by the settings, index ranks it, warm.go and session.go keep what was found
// in the session's own log, so that restart, fork and compaction lose nothing.
//
// Searches that led nowhere are kept, without secrets, in the state folder
// ([Search.Stats] and agentd tools stats show them): searchfile.go.
//
// The presets aalis, chatluna and dsh take the defaults and the names of
// options of three other systems, so that a configuration written for one of
// them works here.
//
// Options count from the next step on and nothing restarts. Everything in an
// activation may be used from any goroutine; a session's set is guarded by the
// session.
package toolsearch
