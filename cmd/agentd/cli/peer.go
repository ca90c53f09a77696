package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

// A tool of the daemon runs as the same user as the person, so that the
// socket's mode lets its programs in. What loosens is refused to them: to
// every process that this one began, or one that it began, and so on.
//
// This stops an agent that types the command, not one that is out to deceive:
// a program may leave its family (its parent ends, or a service such as cron
// or systemd starts it), and where a system does not tell who connects, all
// are let in. What a program of the same user must not do at all needs another
// user or a sandbox.

// errOfTool refuses a process that a tool began.
var errOfTool = errors.New("this is for a person: it is refused to what a tool of this daemon runs")

// peerKey finds the process that a connection comes from, 0 if that is not
// known or lies outside of what this process can see.
type peerKey struct{}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	pid, err := peerOf(conn)
	if err != nil {
		pid = 0
	}
	return context.WithValue(ctx, peerKey{}, pid)
}

// forPerson lets h answer everybody but the programs of tools; refused is what
// these are told.
func forPerson(h http.HandlerFunc, refused func(*remoteError) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		pid, _ := r.Context().Value(peerKey{}).(int)
		if err := refuseOwn(pid, os.Getpid(), parentOf); err != nil {
			writeJSON(w, http.StatusForbidden, refused(&remoteError{err.Error(), exitCode(err)}))
			return
		}
		h(w, r)
	}
}

// refuseOwn refuses a process that descends from self. One whose parents
// cannot be found has ended, or hides.
func refuseOwn(pid, self int, parentOf func(int) (int, error)) error {
	if pid == self {
		return nil
	}
	for pid > 1 {
		parent, err := parentOf(pid)
		if err != nil {
			return fmt.Errorf("who asks cannot be found: %w", err)
		}
		if parent == self {
			return errOfTool
		}
		pid = parent
	}
	return nil
}
