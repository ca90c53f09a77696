package command

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// process is a process that cannot be mistaken for a later one with its
// number.
type process struct {
	pid, parent int
	started     string // in the kernel's ticks
}

// kill ends the process and all below it, and reports whether it was still
// there. It is stopped first, so that it starts no others meanwhile.
func (p process) kill() bool {
	if now, ok := statProcess(p.pid); !ok || now.started != p.started {
		return false
	}
	if syscall.Kill(p.pid, syscall.SIGSTOP) != nil {
		return false
	}
	for _, below := range descendants(p.pid) {
		if below.parent == p.pid {
			below.kill()
		}
	}
	return syscall.Kill(p.pid, syscall.SIGKILL) == nil
}

// descendants returns the processes below pid, itself not included. It sees
// also those that left the process group, as long as no parent between died.
func descendants(pid int) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, ok := statProcess(pid); ok {
				children[p.parent] = append(children[p.parent], p)
			}
		}
	}
	var found []process
	for todo := children[pid]; len(todo) > 0; {
		next := todo[0]
		found = append(found, next)
		todo = append(todo[1:], children[next.pid]...)
	}
	return found
}

// statProcess reads a process's stat. Its fields are counted from behind the
// name in parentheses, which may itself hold spaces and parentheses.
func statProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return process{pid: pid, parent: parent, started: string(fields[19])}, err == nil
}
