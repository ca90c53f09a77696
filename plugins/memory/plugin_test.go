package memory

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
)

func TestPluginProvidesSessionsAndExpiresOldOnes(t *testing.T) {
	state := t.TempDir()
	s, err := open(t.Context(), filepath.Join(state, "agentd.db"))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "old", "x")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	host := core.New(nil)
	defer host.Close(context.WithoutCancel(t.Context()))
	if err := core.Environment.Provide(host.Root(), core.Paths{State: state}); err != nil {
		t.Fatal(err)
	}
	f, err := core.Load(host.Root(), Plugin, Config{Expire: time.Nanosecond})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var sessions core.SessionStore
	user, err := core.Load(host.Root(), core.Plugin[struct{}]{Name: "user", Needs: core.Needs(core.Sessions),
		Apply: func(c *core.Context, _ struct{}) error { sessions, _ = core.Sessions.Get(c); return nil }}, struct{}{})
	if err == nil {
		err = user.Ready(t.Context())
	}
	if err != nil || sessions == nil || !sessions.Durable() {
		t.Fatalf("%v %v", sessions, err)
	}
	for { // the expiry runs in the background
		infos, err := sessions.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) == 0 {
			break
		}
	}
}

func TestConfigRefusesNegativeTimes(t *testing.T) {
	if err := Plugin.Validate(Config{Expire: -1}); err == nil {
		t.Error("accepted")
	}
}
