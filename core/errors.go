package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/schema"
)

// Errors of registration.
var (
	// ErrInactive is returned by every registration through a context whose
	// activation has stopped accepting, or whose scope has ended.
	ErrInactive = errors.New("inactive: the plugin is unloading or unloaded")

	// ErrUndeclared is returned when a plugin that declares Provides provides
	// a service that is not among them.
	ErrUndeclared = errors.New("service is not declared in the plugin's Provides")

	// ErrNoHost is returned when something is emitted with a context that was
	// not derived from a [Context].
	ErrNoHost = errors.New("context belongs to no host: pass a *core.Context or one derived from it")
)

// Errors of waiting.
var (
	// ErrDisposed is returned by operations on a fiber that is gone for good.
	ErrDisposed = errors.New("fiber is disposed")

	// ErrSelfWait is returned instead of blocking when what is waited for
	// would itself wait for the caller. What was asked for goes on.
	ErrSelfWait = errors.New("would wait for itself: the operation goes on without the caller")
)

// Errors of services and events.
var (
	// ErrUnavailable is returned by [Service.Use] when the service is not
	// there for the given context.
	ErrUnavailable = errors.New("service is not available: declare it in Needs and check that its provider is active")

	// ErrNextTwice is returned to a hook listener that calls next again.
	ErrNextTwice = errors.New("next was called twice")
)

// Causes with which a [Context] is cancelled; see [context.Cause].
var (
	// ErrReloading is the cause when the fiber is about to load again.
	ErrReloading = errors.New("reloading")
	// ErrUnloaded is the cause when a required service went or the plugin failed.
	ErrUnloaded = errors.New("unloaded")
	// ErrGraceOver cancels the leases and calls that outlived their grace.
	ErrGraceOver = errors.New("the provider unloads and the grace is over")
)

var errGoexit = errors.New("the goroutine was ended by runtime.Goexit")

// PanicError is a panic of plugin code, contained and named.
type PanicError struct {
	Fiber string // path of the fiber whose code panicked
	What  string // what ran: "apply", `listener "tick"`, ...
	Value any    // what was passed to panic
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: %s: panic: %v", e.Fiber, e.What, e.Value)
}

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ConflictError says that a service is already provided in the realm.
type ConflictError struct {
	Service string
	First   string // path of the fiber that provides it, and goes on doing so
	Second  string // path of the fiber that was refused
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("service %q is already provided by %s: disable one of the two or isolate %s",
		e.Service, e.First, e.Second)
}

// CycleError says that fibers wait for each other's services.
type CycleError struct {
	Fibers   []string // paths; each needs the service that the next provides
	Services []string // Services[i] is what Fibers[i] needs of the next one
}

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("cycle of required services: ")
	for i, f := range e.Fibers {
		fmt.Fprintf(&b, "%s needs %q of ", f, e.Services[i])
	}
	b.WriteString(e.Fibers[0])
	b.WriteString("; make one of them optional")
	return b.String()
}

// StuckError says what a wait was waiting for when its context ended. The
// operation itself goes on.
type StuckError struct {
	Fiber string // path of the fiber that holds things up
	What  string // "apply", `effect "poll"`, `undo of "db"`, ...
	Cause error  // why the wait ended
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("waiting for %s: %s: %v", e.Fiber, e.What, e.Cause)
}

// Unwrap returns the cause, so that errors.Is finds context.DeadlineExceeded.
func (e *StuckError) Unwrap() error { return e.Cause }

// AbandonedError says that something outlived its graces and was left behind.
type AbandonedError struct {
	Fiber string
	What  string // `goroutine "poll"`, `lease of "db"`, ...
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("%s: %s did not end within its grace and was abandoned", e.Fiber, e.What)
}

// ConfigError lists what is wrong with a plugin's config.
type ConfigError struct {
	Plugin string
	Issues schema.Issues // each with its path
	Err    error         // where they came from
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("config of %s: %v", e.Plugin, e.Issues)
}

// Unwrap returns what the check returned.
func (e *ConfigError) Unwrap() error { return e.Err }
