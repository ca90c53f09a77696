// Package consent remembers which command lines of MCP servers a person
// consented to, and which programs they started.
//
// A server's entry is code that runs as the user. What may run is therefore
// pinned: the command line of each server, by configuration file and name, and
// the programs behind the commands, by command and for all servers at once, so
// that an upgrade of node is one question and not one for each server.
//
//	store := consent.Open(filepath.Join(state, "mcp", "consent.json"))
//	change, err := store.Check(subject) // nil, nil: it may start
//	err = store.Allow(subject, "Ada")   // a person saw the change
//
// # Who consents
//
// The first command line of a server, and the first program of a command, are
// taken as they are: they come from a file whose exact content a person
// trusted, from one that he named or wrote himself, or from a plugin that he
// compiled in, and nothing was shown to him before that they could differ
// from. They are the baseline. From then on a difference is a question,
// wherever it comes from: an edit of the file, another value of a variable in
// it, a plugin that connects something else under the same name, another
// program at the same place.
//
// Commands that show a person the command lines while he decides count as his
// answer ([Store.Adopt]), so that he is not asked twice: agentd trust, the
// question about a folder's files at the first start, agentd mcp import. They
// speak for what the file says, and the file says nothing about the content of
// programs: one that changed is asked about even then.
//
// Going back to a command line or a program that was allowed before is no
// question, as with the files of a folder. Deleting an entry and writing
// another under a new name is a new server, not a change: who may write the
// file may do that, which is why a folder's file has to be trusted as a whole.
//
// # What is pinned
//
// Of a command line: command, arguments, names of variables and folder, as
// they are after interpolation. Values of variables are not, they are often
// tokens that rotate.
//
// Of a program: the path that the command is found at and the SHA-256 of the
// file. For `node server.js` or `python3 -m server` that is the interpreter;
// the script is an argument, and its content is not pinned. For a script that
// is the command itself (npx) it is the script and the interpreter that its
// first line names. A file that can't be read is pinned by its path alone.
package consent
