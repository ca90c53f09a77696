// Package toolpolicy is the plugin that decides whether a tool call may run:
// auto runs it, ask asks a person, off hides the tool and refuses the call.
//
// Rules stand under tools.policy in agent.yml:
//
//	tools:
//	  policy:
//	    read_file: auto
//	    "mcp__github__*": ask
//	    "run_command(git *)": auto
//	    "effect:write(path=secrets/**)": off
//
// Within one source of rules the most precise one decides; between sources
// (the file, a group of agents, the command line) the strictest holds. A call
// that a rule asks about becomes a question to a person; what the person says
// may be kept as a grant. Every decision and outcome goes into a record of
// JSON lines that are chained by hash.
//
// The plugin fulfils core.Deciders, core.Approvals and core.Permissions. It
// takes new options and new rules in place: no change of configuration
// restarts it or drops a question that waits. All of it is safe for
// concurrent use.
package toolpolicy
