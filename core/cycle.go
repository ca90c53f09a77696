package core

// cycle finds the circle of required services that f takes part in, or nil.
func (f *Fiber) cycle() *CycleError {
	var path []*Fiber
	var names []string
	seen := map[*Fiber]bool{}
	var search func(g *Fiber) bool
	search = func(g *Fiber) bool {
		if seen[g] {
			return false
		}
		seen[g] = true
		for i := range g.deps {
			d := &g.deps[i]
			if d.mode != required || d.resolve() != nil {
				continue
			}
			for _, p := range d.realm.declarers {
				if p.state != Pending {
					continue
				}
				path, names = append(path, g), append(names, d.realm.h.name)
				if p == f || search(p) {
					return true
				}
				path, names = path[:len(path)-1], names[:len(names)-1]
			}
		}
		return false
	}
	if f.loadable() || !search(f) {
		return nil
	}
	e := &CycleError{Services: names}
	for _, g := range path {
		e.Fibers = append(e.Fibers, g.path())
	}
	return e
}
