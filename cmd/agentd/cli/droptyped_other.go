//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import "os"

// dropTyped can't be done here.
func dropTyped(*os.File) {}
