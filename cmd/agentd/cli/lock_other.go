//go:build !unix

package cli

import "os"

// lockFile takes an exclusive lock for the life of the process: a file that is
// open cannot be removed here, so creating it anew fails while it is held.
func lockFile(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
