package core

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

func TestRule10_L4_UpdateWhileLoadingAppliesTheNewestConfig(t *testing.T) {
	h := newHost(t)
	g := newGated()
	f, err := Load(h.Root(), g.plugin(), level{1})
	must(t, err)
	<-g.began
	done := make(chan error)
	go func() { done <- Update(context.Background(), f, level{2}) }()
	for f.Config() != any(level{2}) {
	}
	var states journal
	states.states(t, h)
	close(g.let)
	must(t, <-done)
	states.want(t, "gated: loading -> unloading", "gated: unloading -> pending",
		"gated: pending -> loading", "gated: loading -> active")
	g.j.want(t, "apply 1", "undo 1", "apply 2")
	if f.Config() != any(level{2}) {
		t.Errorf("config is %v", f.Config())
	}
}

func TestRule10_OfManyUpdatesTheLastWins(t *testing.T) {
	h := newHost(t)
	g := newGated()
	g.obey = true
	f, err := Load(h.Root(), g.plugin(), level{0})
	must(t, err)
	<-g.began
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for n := 1; n <= 20; n++ {
		var stuck *StuckError
		if err := Update(cancelled, f, level{n}); !errors.As(err, &stuck) && err != nil {
			t.Fatal(err)
		}
	}
	close(g.let)
	must(t, f.Wait(t.Context()))
	lines := g.j.get()
	if last := lines[len(lines)-1]; last != "apply 20" {
		t.Errorf("last is %q", last)
	}
}

func TestRule10_L16_UpdateByState(t *testing.T) {
	h := newHost(t)
	var j journal
	p := Plugin[level]{Name: "p", Needs: Needs(number), Apply: func(_ *Context, cfg level) error {
		j.add("apply %d", cfg.N)
		if cfg.N < 0 {
			return errors.New("negative")
		}
		return nil
	}}
	f, err := Load(h.Root(), p, level{1})
	must(t, err)
	must(t, Update(t.Context(), f, level{2})) // Pending: stored
	j.want(t)
	must(t, number.Provide(h.Root(), 1))
	must(t, f.Ready(t.Context()))
	must(t, Update(t.Context(), f, level{2})) // equal: restarts
	if err := Update(t.Context(), f, level{-1}); err == nil {
		t.Error("no error")
	}
	wantState(t, f, Failed)
	must(t, f.Update(t.Context(), json.RawMessage(`{"n":3}`))) // Failed: tries again
	wantState(t, f, Active)
	must(t, f.Err())
	must(t, f.Dispose(t.Context()))
	wantErr(t, Update(t.Context(), f, level{4}), ErrDisposed)
	wantErr(t, f.Restart(t.Context()), ErrDisposed)
	j.want(t, "apply 2", "apply 2", "apply -1", "apply 3")
}

func TestRule17_InvalidConfigNeverReachesApply(t *testing.T) {
	h := newHost(t)
	applied := 0
	p := Plugin[level]{Name: "p",
		Apply: func(*Context, level) error { applied++; return nil },
		Validate: func(cfg level) error {
			if cfg.N > 9 {
				return errors.Join(errors.New("n: too large"), errors.New("n: too odd"))
			}
			return nil
		}}
	f, err := h.Root().Load(p, json.RawMessage(`{"n":"x","m":1}`))
	must(t, err)
	var bad *ConfigError
	if err := f.Wait(t.Context()); !errors.As(err, &bad) || len(bad.Issues) != 2 {
		t.Fatalf("error is %v", err)
	}
	contains(t, bad.Error(), "config of p", "n", "m")
	wantState(t, f, Failed)
	if err := f.Restart(t.Context()); !errors.As(err, &bad) {
		t.Errorf("error is %v", err)
	}
	must(t, f.Update(t.Context(), json.RawMessage(`{"n":3}`)))
	wantState(t, f, Active)
	for _, raw := range []string{`{"n":11}`, `{"n":`, `{"x":1}`, `[]`} {
		if err := f.Update(t.Context(), json.RawMessage(raw)); !errors.As(err, &bad) {
			t.Errorf("%s: error is %v", raw, err)
		}
	}
	if err := Update(t.Context(), f, level{11}); !errors.As(err, &bad) || len(bad.Issues) != 2 {
		t.Errorf("error is %v", err)
	}
	if err := Update(t.Context(), f, "other type"); !errors.As(err, &bad) {
		t.Errorf("error is %v", err)
	}
	wantState(t, f, Active)
	if applied != 1 || f.Config() != any(level{3}) {
		t.Errorf("applied %d times, config %v", applied, f.Config())
	}
}

func TestRule18_Reconfigure(t *testing.T) {
	no := errors.New("no")
	for _, test := range []struct {
		name     string
		accepted bool
		err      error
		panics   bool
		want     []string
		config   int
		failed   error
		effects  int
	}{
		{"accepted", true, nil, false, []string{"apply 1", "reconfigure 1 2"}, 2, nil, 2},
		{"declined", false, nil, false, []string{"apply 1", "reconfigure 1 2", "undo r", "undo", "apply 2"}, 2, nil, 1},
		{"refused", false, no, false, []string{"apply 1", "reconfigure 1 2", "undo r"}, 1, no, 1},
		{"panics", false, nil, true, []string{"apply 1", "reconfigure 1 2", "undo r", "undo", "apply 2"}, 2, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t)
			var j journal
			var states journal
			var kept *Context
			f, err := Load(h.Root(), Plugin[level]{Name: "p",
				Apply: func(c *Context, cfg level) error {
					j.add("apply %d", cfg.N)
					return c.OnUndo("a", j.on("undo"))
				},
				Reconfigure: func(c *Context, old, new level) (bool, error) {
					wantState(t, c.Fiber(), Active)
					j.add("reconfigure %d %d", old.N, new.N)
					must(t, c.OnUndo("r", j.on("undo r")))
					kept = c
					if test.panics {
						panic("boom")
					}
					return test.accepted, test.err
				},
			}, level{1})
			must(t, err, f.Ready(t.Context()))
			states.states(t, h)
			err = Update(t.Context(), f, level{2})
			if test.failed == nil {
				must(t, err)
			} else {
				wantErr(t, err, test.failed)
			}
			wantState(t, f, Active)
			j.want(t, test.want...)
			if f.Config() != any(level{test.config}) {
				t.Errorf("config is %v", f.Config())
			}
			if n := len(f.Effects()); n != test.effects {
				t.Errorf("effects are %v", f.Effects())
			}
			if test.accepted {
				states.want(t)
				must(t, kept.OnUndo("later", j.on("later")))
				must(t, f.Dispose(t.Context()))
				j.want(t, append(test.want, "later", "undo r", "undo")...)
			} else {
				wantErr(t, kept.OnUndo("later", nil), ErrInactive)
			}
		})
	}
}

func TestRule18_L7_EachUpdateIsOneCall(t *testing.T) {
	h := newHost(t)
	calls := 0
	f, err := Load(h.Root(), Plugin[level]{Name: "p", Reconfigure: func(*Context, level, level) (bool, error) {
		calls++
		return true, nil
	}}, level{})
	must(t, err, f.Ready(t.Context()))
	for n := range 3 {
		must(t, Update(t.Context(), f, level{n}))
	}
	if calls != 3 || len(f.Effects()) != 0 {
		t.Errorf("%d calls, effects %v", calls, f.Effects())
	}
}
