// Package memory keeps sessions in one SQLite file, so that they outlive the
// process: an append-only log of events for each session, from which a
// conversation is folded.
//
//	plugins:
//	  memory: {expire: 2160h}
//
// The file is agentd.db in the state folder, readable by its owner alone. It
// is in WAL mode: what Append acknowledged is in the operating system's hands
// and survives kill -9 of the process at any time; the last moments before a
// loss of power may be lost, the file stays sound.
//
// A session has one writer. The right to write is a lock of the operating
// system, which ends with the process that holds it, however that ends; so
// several processes share the file, and a crash leaves no session locked.
// Reading needs no lock.
//
// Clearing deletes for good: the freed pages are overwritten. What is deleted
// in one request is deleted in one transaction.
package memory
