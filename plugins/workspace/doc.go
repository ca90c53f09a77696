// Package workspace gives agents one folder to work in: read_file,
// list_files, search_files, write_file, edit_file, run_command, and beside
// them todo_write and ask_user.
//
//	plugins:
//	  workspace:
//	    root: .
//	    env: [GOFLAGS, "NPM_CONFIG_*"]
//
// # Confinement
//
// File tools reach nothing beside the root. A path is first resolved
// component by component, symbolic links included, into its real name below
// the root; whatever would leave the root is refused by name. The real name
// is then opened through an [os.Root], so that a link which is swapped in
// between leads nowhere either. Devices, pipes, sockets and the kernel's
// pseudo file systems (/proc, /sys) are not files here, also where the root
// contains them.
//
// Policy sees a path in its plainest form: a rule write_file(docs/**) is about
// what lies in docs. If a link on the way makes it another file, the call is
// made once more for that file's real name and decided about as such. Changes
// of files that steer agentd, or that run code without being asked to
// (agent.yml, .agentd, .git), need the permission workspace:guarded as well.
// For run_command each program of a command line is decided about by its
// words, as in run_command(git *); what cannot be told apart with certainty
// counts as a run of the shell, beside whatever programs it seems to run. What
// gets an input has to be allowed as run_command(git apply < stdin) as well,
// since the words of an interpreter say nothing of what it is fed. An answer
// that is kept covers a program in its folder with its very input; a rule
// covers it in any folder. A rule that forbids a program catches its name
// wherever the shell would take it for one, not what an expansion or another
// program makes of other words.
//
// run_command is not confined to the root: a program can do what its user can.
// It starts in the root, gets an environment of allowed names only, and dies
// with everything that it started in its process group.
//
// # Life cycle and concurrency
//
// The root is opened when the plugin is applied and closed when it is undone.
// All tools may run concurrently; those that replace a file take turns.
//
// # Rough edges
//
// A hard link to a file outside the root cannot be told from a file inside.
// A process that starts a session of its own and then forgets its parent
// escapes the group of its command, and with it the killing. .gitignore files
// above the root and git's global excludes are not read.
package workspace
