package agent

import (
	"context"

	"github.com/agentd-host/agentd/core"
)

// roll is a set whose members come and go with their fibers: agents, model
// providers. The kernel is its memory. A member listens to an event and
// answers with itself, so that the set is always in the order of agent.yml;
// and it provides itself as a service in a realm of its own, so that whoever
// works with it holds a lease.
type roll[T any] struct {
	call core.Event[*[]*member[T]]
	life core.Service[T]
}

// member is an entry of a roll, registered at a context of its owner.
type member[T any] struct {
	value T
	at    *core.Context
	life  core.Service[T]
}

func newRoll[T any](name string) roll[T] {
	return roll[T]{core.NewEvent[*[]*member[T]](name + ":call"), core.NewService[T](name)}
}

// add makes v a member for the life of c's scope.
func (r roll[T]) add(c *core.Context, v T) error {
	m := &member[T]{v, c.Isolate(r.life, ""), r.life}
	if err := r.life.Provide(m.at, v); err != nil {
		return err
	}
	return r.call.On(c, func(_ context.Context, list *[]*member[T]) error {
		*list = append(*list, m)
		return nil
	})
}

// members lists who is there, in the order of agent.yml.
func (r roll[T]) members(c *core.Context) []*member[T] {
	var list []*member[T]
	if err := r.call.Emit(c, &list); err != nil {
		c.Logger().Error("calling the roll", "of", r.life.Name(), "error", err)
	}
	return list
}

// use calls f under a lease: the member's unload waits for it within the
// host's grace and then cancels its context. It returns core.ErrUnavailable
// if the member is gone.
func (m *member[T]) use(ctx context.Context, f func(context.Context) error) error {
	return m.life.Use(m.at, ctx, func(ctx context.Context, _ T) error { return f(ctx) })
}
