package core

// handle is the identity of a service, event, query or hook: a pointer, made
// once, usually in a package-level variable. It has no state; what belongs to
// it lives in the tables of each host.
type handle struct {
	name   string
	logged bool // hooks: a listener that does not call next is logged
}

// A Handle names a service, an event, a query or a hook. Handles are
// comparable: two are the same only if they come from one call of New….
type Handle interface {
	// Name is for display; two handles may share it.
	Name() string
	handle() *handle
}

// A Need is a service that a plugin depends on. A [Service] itself is one,
// meaning that it is required.
type Need interface {
	Handle
	mode() needMode
}

type needMode int

const (
	required   needMode = iota
	optional            // dynamic: may come and go while active
	restarting          // optional, but bound for the whole activation
)

type need struct {
	h *handle
	m needMode
}

func (n need) Name() string    { return n.h.name }
func (n need) handle() *handle { return n.h }
func (n need) mode() needMode  { return n.m }

// OptionalNeed is a service that a plugin uses when it is there. It never
// blocks the plugin's start, and Get answers what is there at that moment.
type OptionalNeed struct{ need }

// Restarts returns a need for which the plugin is restarted when the service
// comes or goes; Get then answers the same for a whole activation. A service
// that itself depends on the plugin does not restart it: it would go again.
func (n OptionalNeed) Restarts() Need { return need{n.h, restarting} }

// Needs lists needs; it exists for the look of a plugin's declaration.
func Needs(needs ...Need) []Need { return needs }

// Provides lists handles; it exists for the look of a plugin's declaration.
func Provides(handles ...Handle) []Handle { return handles }
