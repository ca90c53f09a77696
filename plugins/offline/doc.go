// Package offline is a model that needs no key and no network. It does not
// pretend to be clever: it is a command interpreter that speaks the model
// interface, so that the real loop, tool surface, policy and approvals can be
// used and debugged by anybody.
//
// A message whose first word is a legal tool name, followed by nothing, a JSON
// object or k=v words, is a call of that tool, whether or not it exists:
//
//	read_file path=README.md
//	weather_lookup {"city": "Oslo"}
//	todo_write
//
// Several lines, each of them a call with arguments, are the calls of one
// answer. Any other message is a search over the tools: through the search
// tool if the request shows one, else over the request's own tools. The answer
// says what was found and how to call it.
//
// In agent.yml it is one entry without options:
//
//	plugins:
//	  offline: {}
package offline
