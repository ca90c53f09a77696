//go:build !linux && !darwin

package cli

import (
	"errors"
	"net"
)

// peerOf is not told by this system.
func peerOf(net.Conn) (int, error) { return 0, errors.ErrUnsupported }

func parentOf(int) (int, error) { return 0, errors.ErrUnsupported }
