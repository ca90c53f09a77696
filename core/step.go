package core

// step is what a driver can do next.
type step int

const (
	stepNone step = iota
	stepLoad
	stepReconfigure
	stepUnload
	stepReject  // the config is invalid
	stepPend    // tried again, but a required service is missing
	stepDispose // for good
)

// next names the next step. It changes nothing; the lock is held.
func (f *Fiber) next() step {
	switch {
	case f.state == Disposed:
		return stepNone
	case f.act != nil:
		return f.nextActive()
	case !f.mounted:
		return stepDispose
	case f.state == Failed:
		return f.nextFailed()
	case f.invalid != nil:
		return stepReject
	case f.loadable():
		return stepLoad
	}
	return stepNone
}

func (f *Fiber) nextActive() step {
	switch {
	case f.act.outdated():
		return stepUnload
	case f.act.revision == f.revision:
		return stepNone
	case f.info.Reconfigures:
		return stepReconfigure
	}
	return stepUnload
}

func (f *Fiber) nextFailed() step {
	changed := f.failed.revision != f.revision || f.failed.nonce != f.nonce
	switch {
	case changed && f.invalid != nil:
		return stepReject
	case f.invalid != nil:
		return stepNone
	case f.loadable() && (changed || f.rebound()):
		return stepLoad
	case changed:
		return stepPend
	}
	return stepNone
}

// loadable reports whether all required services are there.
func (f *Fiber) loadable() bool {
	for i := range f.deps {
		if d := &f.deps[i]; d.mode == required && d.resolve() == nil {
			return false
		}
	}
	return true
}

// rebound reports whether a required service has another provision than when
// the fiber failed.
func (f *Fiber) rebound() bool {
	for i := range f.deps {
		d := &f.deps[i]
		if d.mode != required || i >= len(f.failed.provisions) {
			continue
		}
		if d.resolve() != f.failed.provisions[i] {
			return true
		}
	}
	return false
}
