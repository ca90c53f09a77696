package core

// HostValue is a value that each host has one of, made by make when it is
// first asked for and kept for the host's life. It is what a plugin remembers
// of itself from one activation to the next, where it must not be forgotten:
// everything else is a field of the activation. It holds no resources, for
// nothing closes it.
type HostValue[T any] struct{ key *func() T }

// NewHostValue makes the identity of a value. The value must be safe for
// concurrent use.
func NewHostValue[T any](make func() T) HostValue[T] { return HostValue[T]{&make} }

// Of returns the value of c's host.
func (v HostValue[T]) Of(c *Context) T {
	if there, ok := c.host.values.Load(v.key); ok {
		return there.(T)
	}
	there, _ := c.host.values.LoadOrStore(v.key, (*v.key)())
	return there.(T)
}
