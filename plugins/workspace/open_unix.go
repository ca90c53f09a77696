//go:build unix

package workspace

import "syscall"

// openFlags keep an open from waiting at a pipe and from adopting a terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
