package cli

import (
	"errors"
	"testing"
)

func TestWhatAToolBeganIsNoPerson(t *testing.T) {
	gone := errors.New("no such process")
	parents := map[int]int{100: 1, 7: 100, 20: 7, 21: 20, 22: 21, 30: 1, 31: 30, 40: 41}
	parent := func(pid int) (int, error) {
		if p, ok := parents[pid]; ok {
			return p, nil
		}
		return 0, gone
	}
	for pid, want := range map[int]error{
		20: errOfTool, 22: errOfTool, // a child, and its child's child
		7:   nil,         // the daemon itself
		100: nil,         // who began it
		31:  nil, 1: nil, // others
		0:  nil,  // outside of what this process sees
		40: gone, // parents that end while they are looked for
		50: gone,
	} {
		if err := refuseOwn(pid, 7, parent); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("process %d: got %v, want %v", pid, err, want)
		}
	}
}
