package workspace

import (
	"bytes"
	"os"
	"strconv"
)

// descendants returns the processes below pid, itself not included. It sees
// also those that left the process group, as long as no parent between died.
func descendants(pid int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent := parentOf(child); parent > 0 {
			children[parent] = append(children[parent], child)
		}
	}
	var found []int
	for todo := children[pid]; len(todo) > 0; {
		next := todo[0]
		found = append(found, next)
		todo = append(todo[1:], children[next]...)
	}
	return found
}

// parentOf reads the fourth field of a process's stat, behind the name in
// parentheses, which may itself hold spaces and parentheses.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
