//go:build !unix

package statefile

import "sync"

// updates keeps the goroutines of this process apart.
var updates sync.Mutex

// LockFile is a lock that may be taken many times. Here it keeps the
// goroutines of this process apart; processes are not. One goroutine at a
// time may use it.
type LockFile struct{}

// NewLock returns the lock of a file, without looking at it.
func NewLock(string) *LockFile { return &LockFile{} }

// Lock waits for whoever holds the lock and takes it.
func (*LockFile) Lock() error {
	updates.Lock()
	return nil
}

// Unlock lets go of the lock.
func (*LockFile) Unlock() { updates.Unlock() }

// Close ends the use of an unlocked lock.
func (*LockFile) Close() error { return nil }
