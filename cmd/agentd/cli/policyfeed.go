package cli

import (
	"context"
	"sync/atomic"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
)

// policyFeed hands the policy of agent.yml and of the command line to whoever
// decides. Readers never wait.
type policyFeed struct {
	root      *core.Context
	overrides []core.PolicyRule
	readOnly  bool
	current   atomic.Pointer[core.PolicyConfig]
	secrets   *secrets
}

func newPolicyFeed(s *settings, h *core.Host) *policyFeed {
	f := &policyFeed{root: h.Root(), overrides: s.overrides(), readOnly: s.readOnly, secrets: &s.secrets}
	f.current.Store(&core.PolicyConfig{Overrides: f.overrides, ReadOnly: f.readOnly})
	return f
}

// Current is the policy in force.
func (f *policyFeed) Current() *core.PolicyConfig { return f.current.Load() }

// Secrets are the values that documents took from variables and files.
func (f *policyFeed) Secrets() []string { return f.secrets.all() }

// publish makes the policy of a document the one in force. The loader calls
// it before it touches any entry, so that no plugin runs under the policy of
// the file before.
func (f *policyFeed) publish(ctx context.Context, doc *config.Document) {
	next := loader.PolicyOf(doc, f.root.Fiber().Path())
	next.Overrides, next.ReadOnly = f.overrides, f.readOnly
	f.secrets.add(doc.Secrets)
	f.current.Store(next)
	if err := core.PolicyChanged.Emit(f.root, next); err != nil {
		f.root.Logger().Error("the new policy was not taken everywhere", "err", err)
	}
	f.root.Tools().Refresh() // without toolpolicy nobody else tells
}

var (
	_ core.PolicyFeed   = (*policyFeed)(nil)
	_ core.SecretKeeper = (*policyFeed)(nil)
)
