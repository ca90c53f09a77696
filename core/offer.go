package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// An offer is one thing of a plugin's that others may use by its name: a
// prompt or a resource. Tools are more than that, see definition.
type offer[T any] struct {
	node
	gate  gate
	shelf *shelf[T]
	key   string
	value T
}

// A shelf holds the offers of one kind, sorted by key. The list is replaced,
// never changed: readers take no lock.
type shelf[T any] struct {
	kind         string
	event        Event[struct{}] // told when the list changed
	list         atomic.Pointer[[]*offer[T]]
	announcement announcement
}

// OfferConflictError says that a prompt's name or a resource's URI is taken.
type OfferConflictError struct {
	Kind   string // KindPrompt or KindResource
	Name   string
	First  string // path of the fiber that offers it, and goes on doing so
	Second string // path of the fiber that was refused
}

func (e *OfferConflictError) Error() string {
	return fmt.Sprintf("%s %q: %s offers it already, %s can't: choose another name", e.Kind, e.Name, e.First, e.Second)
}

// all gives the offers that there are now.
func (s *shelf[T]) all() []*offer[T] {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// find gives the offer with that key, nil if there is none.
func (s *shelf[T]) find(key string) *offer[T] {
	list := s.all()
	if at, ok := slices.BinarySearchFunc(list, key, compareOffer[T]); ok {
		return list[at]
	}
	return nil
}

func compareOffer[T any](o *offer[T], key string) int { return strings.Compare(o.key, key) }

// put adds an offer until c's scope ends.
func (s *shelf[T]) put(c *Context, key string, v T) error {
	o := &offer[T]{shelf: s, key: key, value: v}
	o.kind, o.label, o.state = s.kind, key, nodeLive
	o.node.gate, o.part = &o.gate, o
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	old := s.all()
	at, taken := slices.BinarySearchFunc(old, key, compareOffer[T])
	if taken {
		return &OfferConflictError{s.kind, key, old[at].act.fiber.path(), c.fiber.path()}
	}
	if err := c.registerLocked(&o.node); err != nil {
		return err
	}
	s.replace(c.host, slices.Insert(slices.Clip(old), at, o))
	return nil
}

func (s *shelf[T]) replace(h *Host, list []*offer[T]) {
	s.list.Store(&list)
	s.announcement.soon(h, s.event.h, func() error { return s.event.Emit(h.root, struct{}{}) })
}

func (o *offer[T]) end(*Host) error {
	o.gate.shut()
	return nil
}

func (o *offer[T]) leave(h *Host) {
	o.shelf.replace(h, slices.DeleteFunc(slices.Clone(o.shelf.all()), func(p *offer[T]) bool { return p == o }))
}

// useOffer calls f, which calls the offer's own function, under the lease of
// the plugin that made the offer, and contains its panic. When ctx ends it
// waits a grace for the function and then answers without it; the plugin's
// teardown goes on waiting.
func useOffer[T, R any](ctx context.Context, o *offer[T], f func(context.Context, T) (R, error)) (R, error) {
	h := o.act.fiber.host
	var none R
	call, ok := o.gate.begin(h.hosted(ctx), &o.node)
	if !ok {
		return none, o.over(ErrGraceOver)
	}
	done := make(chan offered[R], 1)
	go serveOffer(call, o, f, done)
	select {
	case r := <-done:
		return r.value, r.err
	case <-call.Done():
	}
	t := time.NewTimer(h.opts.Grace)
	defer t.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-t.C:
		h.root.Logger().Warn("call does not end", "call", o.String(), "plugin", o.act.fiber.Path(), "cause", context.Cause(call))
		return none, o.over(context.Cause(call))
	}
}

// offered is what an offer's function returned.
type offered[R any] struct {
	value R
	err   error
}

// serveOffer calls f and ends the call.
func serveOffer[T, R any](call *call, o *offer[T], f func(context.Context, T) (R, error), done chan<- offered[R]) {
	var r offered[R]
	r.err = o.act.fiber.guard("", &o.node, func() (err error) {
		r.value, err = f(call, o.value)
		return err
	})
	if r.err != nil && call.Err() != nil {
		r.err = o.over(context.Cause(call))
	}
	call.leave()
	done <- r
	call.cancel(nil) // not before: the end of the context means that it was told to end
}

// over is the error of a call that was told to end.
func (o *offer[T]) over(cause error) error {
	if errors.Is(cause, ErrGraceOver) {
		return fmt.Errorf("%s: its plugin %s was unloaded", &o.node, o.act.fiber.Path())
	}
	return fmt.Errorf("%s: %w", &o.node, cause)
}
