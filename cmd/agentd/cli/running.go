package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/schema"
	"github.com/agentd-host/agentd/plugins/mcp"
)

// viewer is through whose eyes a command sees tools: the named agent, else
// the first one of agent.yml, else the host itself.
func (h *running) viewer(agent string) (core.Viewer, error) {
	agents, ok := core.Agents.Get(h.Context)
	if !ok {
		return core.Viewer{}, nil
	}
	list := agents.List()
	if agent == "" {
		if len(list) == 0 {
			return core.Viewer{}, nil
		}
		return list[0].Viewer, nil
	}
	names := make([]string, len(list))
	for i, a := range list {
		if a.Name == agent {
			return a.Viewer, nil
		}
		names[i] = a.Name
	}
	return core.Viewer{}, usageError(fmt.Errorf("no agent %q; there are: %s", agent, strings.Join(names, ", ")))
}

// modelOf describes the model that an agent would talk to now; the zero value
// if there is none.
func (h *running) modelOf(agent string) llm.Info {
	models, ok := core.Models.Get(h.Context)
	agents, has := core.Agents.Get(h.Context)
	if !ok || !has {
		return llm.Info{}
	}
	for _, a := range agents.List() {
		if a.Name == agent || agent == "" {
			if m, _, err := models.Resolve(a.Model); err == nil {
				return m.Describe()
			}
		}
	}
	return llm.Info{}
}

// within is the commands' own context, ended with ctx.
func (h *running) within(ctx context.Context) context.Context {
	joined, cancel := context.WithCancelCause(h.Context)
	context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return joined
}

// unknownTool names tools close to one that is not there.
func (h *running) unknownTool(v core.Viewer, name string) error {
	var names []string
	for _, e := range h.Tools().Catalog(v) {
		names = append(names, e.Name)
	}
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("no tool %q; did you mean %q?", name, near)
	}
	slices.Sort(names)
	return fmt.Errorf("no tool %q; `agentd tools` lists them", name)
}

// addAsker makes a person reachable until stop is called. The asker has a
// fiber of its own, so that it joins again when the broker was away.
func (h *running) addAsker(a core.Asker) (stop func(), err error) {
	p := core.Plugin[struct{}]{
		Name:  a.Name(),
		Needs: core.Needs(core.Approvals.Need()),
		Apply: func(c *core.Context, _ struct{}) error {
			broker, _ := core.Approvals.Get(c)
			return broker.AddAsker(c, a)
		},
	}
	fiber, err := core.Load(h.Context, p, struct{}{})
	if err != nil {
		return nil, err
	}
	if err := fiber.Wait(h.Context); err != nil {
		return nil, err
	}
	if admin, ok := mcp.Admins.Get(h.Context); ok && a.Takes("") {
		admin.AskAgain()
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.Context), stopTimeout)
		defer cancel()
		fiber.Dispose(ctx) //nolint:errcheck // the host's end reports it
	}, nil
}

// askerHere reaches the person at this process's terminal, if there is one.
func askerHere() (*terminalAsker, bool) {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stderr) {
		return nil, false
	}
	lines := &plainLines{in: os.Stdin, out: os.Stderr}
	return &terminalAsker{lines: lines, out: os.Stderr, style: styleOf(os.Stderr)}, true
}

// askHere makes the person at this terminal reachable for one call or turn,
// if there is one; the caller calls what it returns at the end. What waited
// for a person is asked and done before it returns.
func (h *running) askHere(ctx context.Context) (stop func()) {
	asker, ok := askerHere()
	if !ok {
		return func() {}
	}
	stop, err := h.addAsker(asker)
	if err != nil {
		h.log.Warn("questions cannot be asked at this terminal", "err", err)
		return func() {}
	}
	h.awaitServers(ctx, true)
	return stop
}

// operations are those that the daemon answers.
func operations() []served {
	return []served{
		toolsList, toolsShow, toolsWhy, toolsSearch, toolsStats,
		policyList, policySet, policyExplain, policyGrants, policyRevoke,
		pluginsList, pluginsEnable, pluginsRestart, configReload,
		mcpStatus, mcpAllow, mcpReview, mcpAccept, approvalsList, approvalsAnswer, auditFile,
		sessionsList, sessionsShow, sessionsFork, sessionsClear, sessionsPrune, sessionsBackup, sessionsCompact,
	}
}

// forPersons are the operations that are refused to the programs of tools:
// they may loosen what holds, or answer in a person's stead.
func forPersons() []served {
	return []served{
		policySet, policyRevoke, pluginsEnable, pluginsRestart, configReload,
		mcpAllow, mcpAccept, approvalsAnswer,
	}
}
