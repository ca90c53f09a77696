//go:build unix && !linux

package command

// process is a process outside the group of its command.
type process struct{}

func (process) kill() bool { return false }

// descendants is not known here; the process group must do.
func descendants(int) []process { return nil }
