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
// contains them. Paths that steer agentd itself or that run code without being
// asked to (agent.yml, .agentd, .git) need a permission of their own.
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
