package core

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestQueryAllAsksEveryListener(t *testing.T) {
	h := newHost(t)
	q := NewQuery[int, string]("test:all")
	if q.Heard(h.Root()) || q.Heard(t.Context()) {
		t.Error("heard before anybody listened")
	}
	answers := func(s string, ok bool, err error) func(context.Context, int) (string, bool, error) {
		return func(context.Context, int) (string, bool, error) { return s, ok, err }
	}
	must(t, q.On(h.Root(), answers("second", true, nil), Order(2)))
	must(t, q.On(h.Root(), answers("first", true, nil), Order(1)))
	must(t, q.On(h.Root(), answers("none", false, nil), Order(3)))
	must(t, q.On(h.Root(), answers("lost", true, errors.New("broken")), Order(4)))
	must(t, q.On(h.Root(), func(context.Context, int) (string, bool, error) { panic("oh") }, Order(5)))
	must(t, q.On(h.Root(), answers("last", true, nil), Order(6)))
	got, err := q.All(h.Root(), 1)
	if want := []string{"first", "second", "last"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "oh") {
		t.Errorf("got %v, want both errors", err)
	}
	if !q.Heard(h.Root()) {
		t.Error("not heard")
	}
	if _, err := q.All(t.Context(), 1); !errors.Is(err, ErrNoHost) {
		t.Errorf("without a host: got %v", err)
	}
}
