package core

import "slices"

// OrderOption is what [Order] returns.
type OrderOption int

// Order is an option of listeners and of Load. Listeners with a smaller n run
// first, or further out; 0 is the default. For Load it is where the fiber's
// entry stands among its siblings in agent.yml: of equal order, listeners run
// by that. See [Fiber.SetOrder].
func Order(n int) OrderOption { return OrderOption(n) }

func (o OrderOption) load(f *Fiber) { f.position, f.placed = int(o), true }

// SetOrder tells where the fiber's entry stands among its siblings now; the
// order of its listeners follows.
func (f *Fiber) SetOrder(position int) {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	if f.placed && f.position == position {
		return
	}
	f.position, f.placed = position, true
	f.replace()
	f.host.reorder()
}

// place computes the positions from the root down.
func (f *Fiber) place() {
	var above []int
	if f.parent != nil {
		above = f.parent.positions
	}
	f.positions = above
	if f.placed {
		f.positions = append(slices.Clip(above), f.position)
	}
}

func (f *Fiber) replace() {
	f.place()
	for _, c := range f.children() {
		c.replace()
	}
}
