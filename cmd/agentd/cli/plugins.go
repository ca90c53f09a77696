package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newPlugins(s *settings) *cobra.Command {
	c := pluginsList.command(s.withTarget, &cobra.Command{
		Use:     "plugins",
		Short:   "List the plugins that run, and change which do",
		Example: "  agentd plugins\n  agentd plugins disable mcp\n  agentd plugins restart mcp",
		Args:    noArgs,
	}, noInput, printPlugins)
	return listing(c, "List the plugins that run",
		newEnable(s, "enable", true), newEnable(s, "disable", false), newRestart(s), newPluginsNew())
}

func newEnable(s *settings, verb string, enabled bool) *cobra.Command {
	return pluginsEnable.said(s.withFiles, &cobra.Command{
		Use:     verb + " ID",
		Short:   strings.ToUpper(verb[:1]) + verb[1:] + " an entry of agent.yml, by editing the file",
		Example: "  agentd plugins " + verb + " mcp",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}, func(args []string) (enableEntry, error) { return enableEntry{args[0], enabled}, nil }, printEdited)
}

func newRestart(s *settings) *cobra.Command {
	return pluginsRestart.order(s.withDaemon, &cobra.Command{
		Use:     "restart ID",
		Short:   "Restart an entry of the running daemon",
		Example: "  agentd plugins restart mcp",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}, theEntry, func(w io.Writer, in entryID) { fmt.Fprintln(w, in.ID+" restarted") })
}

// pluginStatus is what runs, as far as agent.yml names it.
type pluginStatus struct {
	File    string        `json:"file,omitempty"`
	Applied time.Time     `json:"applied,omitzero"`
	Error   string        `json:"error,omitempty"` // of the last reload
	Failed  time.Time     `json:"failed,omitzero"`
	LeftOut []string      `json:"leftOut,omitempty"`
	Held    []string      `json:"held,omitempty"` // MCP servers that need consent, and what they would run
	Entries []entryStatus `json:"entries"`
}

// entryStatus is one entry and its fiber.
type entryStatus struct {
	Name  string    `json:"name"`
	ID    string    `json:"id"`
	Depth int       `json:"depth,omitempty"`
	State string    `json:"state"`
	UID   uint64    `json:"uid,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Error string    `json:"error,omitempty"`
}

// The operations on plugins.
var (
	pluginsList = operation[struct{}, pluginStatus]{"plugins/list",
		func(ctx context.Context, h *running, _ struct{}) (pluginStatus, error) {
			out := h.status()
			out.Held = h.heldServers(ctx)
			return out, nil
		}}
	pluginsRestart = operation[entryID, struct{}]{"plugins/restart",
		func(ctx context.Context, h *running, in entryID) (struct{}, error) {
			return struct{}{}, h.loader.Restart(ctx, in.ID)
		}}
)

// status is what runs, without secrets.
func (h *running) status() pluginStatus {
	s, redact := h.loader.Status(), h.settings.secrets.redact
	out := pluginStatus{File: s.File, Applied: s.Good}
	if s.Err != nil {
		out.Error, out.Failed = redact(s.Err.Error()), s.ErrTime
	}
	for _, l := range s.LeftOut {
		out.LeftOut = append(out.LeftOut, l.String())
	}
	for _, e := range s.Entries {
		entry := entryStatus{Name: e.Name, ID: e.ID, Depth: e.Depth, State: e.State, UID: e.UID, Since: e.Since}
		if e.Disabled {
			entry.State = "disabled"
		}
		if e.Err != nil {
			entry.Error = redact(e.Err.Error())
		}
		out.Entries = append(out.Entries, entry)
	}
	return out
}

func printPlugins(w io.Writer, s pluginStatus) {
	var rows [][]string
	for _, e := range s.Entries {
		rows = append(rows, []string{strings.Repeat("  ", e.Depth) + e.Name, e.ID, e.State, ago(e.Since), e.Error})
	}
	table(w, []string{"PLUGIN", "ID", "STATE", "SINCE", "ERROR"}, rows)
	if !s.Applied.IsZero() {
		fmt.Fprintf(w, "\n%s applied %s\n", orNone(s.File), ago(s.Applied))
	}
	for _, l := range s.LeftOut {
		fmt.Fprintln(w, "not trusted, left out: "+l)
	}
	for _, l := range s.Held {
		fmt.Fprintln(w, "needs consent: "+toolpolicy.VisibleLine(l))
	}
	if s.Error != "" {
		fmt.Fprintf(w, "last reload, %s: %s\n", ago(s.Failed), s.Error)
	}
}

// ago says how long something has been so.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return time.Since(t).Truncate(time.Second).String() + " ago"
}
