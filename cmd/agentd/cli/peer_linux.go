package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf is the process at the other end of a connection.
func peerOf(conn net.Conn) (int, error) {
	var cred *unix.Ucred
	err := onSocket(conn, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// parentOf is the process that one is a child of.
func parentOf(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in brackets, may hold anything; state and parent follow.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("process %d: no parent in %q", pid, stat)
	}
	return strconv.Atoi(string(fields[1]))
}
