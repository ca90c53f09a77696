package core

// The kernel and the tool registry replace these declarations: whoever brings
// the real ones deletes them here; the file goes with the last of them.

import (
	"context"
	"encoding/json"
)

type Context struct{ context.Context }

func (c *Context) Fiber() *Fiber { return nil }

type Fiber struct{}

func (f *Fiber) Path() string { return "" }

type Service[T any] struct{}

func NewService[T any](name string) Service[T] { return Service[T]{} }

type Event[E any] struct{}

func NewEvent[E any](name string) Event[E] { return Event[E]{} }

type Hook[In, Out any] struct{}

func NewHook[In, Out any](name string) Hook[In, Out] { return Hook[In, Out]{} }

type Query[In, Out any] struct{}

func NewQuery[In, Out any](name string) Query[In, Out] { return Query[In, Out]{} }

type running struct{}

func argsDigest(name string, args json.RawMessage) string { return "" }
