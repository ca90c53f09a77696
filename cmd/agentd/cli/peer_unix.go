//go:build linux || darwin

package cli

import (
	"errors"
	"net"
	"syscall"
)

// onSocket calls f with the descriptor of a connection.
func onSocket(conn net.Conn, f func(fd int) error) error {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}
