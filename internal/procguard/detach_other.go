//go:build !unix

package procguard

import "os/exec"

func detach(*exec.Cmd) {}
