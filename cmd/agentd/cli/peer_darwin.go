package cli

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf is the process at the other end of a connection.
func peerOf(conn net.Conn) (pid int, err error) {
	err = onSocket(conn, func(fd int) (err error) {
		pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		return err
	})
	return pid, err
}

// parentOf is the process that one is a child of.
func parentOf(pid int) (int, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	return int(info.Eproc.Ppid), nil
}
