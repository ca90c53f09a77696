package core

import "fmt"

// State is where a fiber is in its life.
type State int

// The states of a fiber. A failed load passes Loading, Unloading, Failed; a
// restart Active, Unloading, Pending, Loading, Active.
const (
	Pending   State = iota // waits for a required service
	Loading                // Apply runs
	Active                 // loaded
	Unloading              // is being undone
	Failed                 // see Err; tried again on Update, Restart or another provider
	Disposed               // gone for good
)

var stateNames = [...]string{"pending", "loading", "active", "unloading", "failed", "disposed"}

func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// FiberStateEvent is one change of a fiber's state.
type FiberStateEvent struct {
	Fiber    *Fiber
	Old, New State
	Err      error // why, if New is Failed
}

// FiberStateChanged is emitted once for each change, in order, before the
// fiber's next step: a listener that blocks holds up the fiber.
var FiberStateChanged = NewEvent[FiberStateEvent]("fiber:state")
