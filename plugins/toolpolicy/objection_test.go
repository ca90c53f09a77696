package toolpolicy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentd-host/agentd/core"
)

func TestRule05_E17_HooksThatFailRefuseWhatIsNotRead(t *testing.T) {
	fails := func(context.Context, core.DecideRequest) (core.Objection, bool, error) {
		return core.Objection{}, false, errors.New("broken")
	}
	panics := func(context.Context, core.DecideRequest) (core.Objection, bool, error) { panic("broken") }
	hangs := func(ctx context.Context, _ core.DecideRequest) (core.Objection, bool, error) {
		<-ctx.Done()
		return core.Objection{}, false, ctx.Err()
	}
	for name, hook := range map[string]func(context.Context, core.DecideRequest) (core.Objection, bool, error){
		"fails": fails, "panics": panics, "hangs": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, t.TempDir(), Config{}, "w = auto", "x = auto")
				h.must(core.ToolDecide.On(h.c, hook))
				h.wants(h.call("r", ""), "")
				h.wants(h.call("w", ""), core.CodeDenied)
				h.wants(h.call("x", "ls"), core.CodeDenied)
				h.close()
			})
		})
	}
}

func TestRule02_HooksDenyOrAskButNeverAllow(t *testing.T) {
	h := newHouse(t, t.TempDir(), Config{}, "x = auto", "w = off")
	var objection core.Objection
	object := func(context.Context, core.DecideRequest) (core.Objection, bool, error) { return objection, true, nil }
	asks := func(context.Context, core.DecideRequest) (core.Objection, bool, error) {
		return core.Objection{By: "first", Reason: "looks odd"}, true, nil
	}
	h.must(core.ToolDecide.On(h.c, asks))
	h.must(core.ToolDecide.On(h.c, object))
	objection = core.Objection{By: "second"}
	h.wants(h.call("w", ""), core.CodeUnknown)
	h.wants(h.call("x", "ls"), core.CodeNobody)
	objection = core.Objection{By: "second", Deny: true, Reason: "too dangerous"}
	r := h.call("x", "ls") // the deny behind an ask counts
	h.wants(r, core.CodeDenied)
	if !strings.Contains(r.Err.Message, "too dangerous") {
		t.Errorf("got %q", r.Err.Message)
	}
	objection = core.Objection{By: "second"}
	p := says(core.AnswerAlways)
	h.must(h.broker.AddAsker(h.c, p))
	h.wants(h.call("x", "ls"), "")
	h.wants(h.call("x", "ls"), "")
	if p.count() != 1 || p.last().Reason != "looks odd" {
		t.Errorf("asked %d times, reason %q", p.count(), p.last().Reason)
	}
}
