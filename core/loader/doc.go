// Package loader keeps the plugins of a host as agent.yml says.
//
// Each entry of the file is a fiber; a group is a fiber that holds those of
// its entries and narrows what they see. A reload compares the new document
// with what runs, and touches only what differs:
//
//	l, err := loader.New(host.Root(), loader.Options{Schema: schema, Plugins: plugins, Sources: sources})
//	err = l.Reload(ctx) // the first time, too
//	go l.Run(ctx)       // follows the files from now on
//
// A document that has anything wrong changes nothing. An entry that does not
// start with its new options goes back to its old ones. What goes is gone
// before what comes begins, and what failed because of another entry's port or
// name is tried once more when the others are done.
//
// Reloads, edits and restarts are serialised. All methods may be called from
// any goroutine.
package loader
