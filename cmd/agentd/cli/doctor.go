package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
	"github.com/agentd-host/agentd/plugins/toolsearch"
)

// finding is one thing that doctor looked at.
type finding struct {
	Check string `json:"check"`
	State health `json:"state"`
	Says  string `json:"says"`
}

// health grades a finding. What is bad makes doctor fail.
type health string

const (
	healthy  health = "ok"
	unsure   health = "warn"
	unwell   health = "bad"
	goodMark        = "✓"
	warnMark        = "!"
	badMark         = "✗"
)

func newDoctor(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that has to be right, and say what is not",
		Long: "doctor checks the configuration, the state folder and its permissions, the\n" +
			"plugins, models, MCP servers, search, sessions and the audit log. It starts what\n" +
			"agent.yml names, changes nothing, and exits 1 if something is bad.",
		Example: "  agentd doctor\n  agentd doctor --json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings, err := s.examine(c.Context())
			if err != nil {
				return err
			}
			if err := show(os.Stdout, asJSON, findings, printFindings); err != nil {
				return err
			}
			for _, f := range findings {
				if f.State == unwell {
					return &codedError{exitError, nil}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// examination collects findings.
type examination struct{ findings []finding }

func (x *examination) add(check string, state health, format string, args ...any) {
	x.findings = append(x.findings, finding{check, state, fmt.Sprintf(format, args...)})
}

// examine checks all there is. The error is of the kind that nothing could be
// looked at.
func (s *settings) examine(ctx context.Context) ([]finding, error) {
	env, err := findEnvironment(s.config)
	if err != nil {
		return nil, err
	}
	x := &examination{}
	x.state(env)
	if !s.examineConfig(x, env) {
		return x.findings, nil
	}
	x.daemon(env)
	h, err := s.start(ctx, slog.LevelError)
	if err != nil {
		x.add("start", unwell, "%s", firstLine(s.secrets.err(err)))
		return x.findings, nil
	}
	h.awaitServers(ctx, false)
	for _, check := range []func(context.Context, *running){
		x.plugins, x.models, x.servers, x.search, x.policy, x.sessions,
	} {
		check(ctx, h)
	}
	if err := h.stop(); err != nil {
		x.add("stop", unwell, "%s", firstLine(err))
	}
	for i := range x.findings {
		x.findings[i].Says = s.secrets.redact(x.findings[i].Says)
	}
	return x.findings, nil
}

// state looks for files that others may read or write.
func (x *examination) state(env environment) {
	loose := 0
	err := filepath.WalkDir(env.State, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that came and went
		}
		if err == nil && d.Type().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			loose++
			x.add("state", unsure, "%s may be used by others: chmod 600 it", path)
		}
		return err
	})
	switch {
	case err != nil:
		x.add("state", unwell, "%s", err)
	case loose == 0:
		x.add("state", healthy, "%s, for you alone", env.State)
	}
}

// examineConfig reports whether there is a configuration to start.
func (s *settings) examineConfig(x *examination, env environment) bool {
	if env.Config == "" {
		x.add("config", unsure, "%s", errNoConfig)
	}
	doc, err := s.loadConfig()
	if err != nil {
		for _, line := range errorLines(err) {
			x.add("config", unwell, "%s", line)
		}
		return false
	}
	for _, w := range doc.Warnings {
		x.add("config", unsure, "%s", w)
	}
	for _, l := range doc.LeftOut {
		x.add("trust", unsure, "left out until agentd trust accepts it: %s", l)
	}
	if env.Config != "" {
		x.add("config", healthy, "%s, %d entries", doc.File, checkReport(doc, nil).Entries)
	}
	return true
}

func (x *examination) daemon(env environment) {
	path, err := env.socketPath()
	switch {
	case err != nil:
		x.add("daemon", unwell, "%s", err)
	case dialDaemon(path) != nil:
		x.add("daemon", healthy, "one runs on this config")
	default:
		x.add("daemon", healthy, "none runs on this config")
	}
}

func (x *examination) plugins(_ context.Context, h *running) {
	bad := 0
	status := h.status()
	for _, e := range status.Entries {
		if e.Error != "" {
			bad++
			x.add("plugins", unwell, "%s is %s: %s", e.ID, e.State, e.Error)
		} else if e.State == core.Pending.String() {
			bad++
			x.add("plugins", unsure, "%s waits for a service that nothing provides", e.ID)
		}
	}
	if bad == 0 {
		x.add("plugins", healthy, "%d entries, none failed", len(status.Entries))
	}
}

func (x *examination) models(_ context.Context, h *running) {
	models, ok := core.Models.Get(h.Context)
	agents, has := core.Agents.Get(h.Context)
	if !ok || !has {
		x.add("agents", unsure, "%s", errNoAgent)
		return
	}
	for _, p := range models.Providers() {
		if p.Ready {
			x.add("models", healthy, "%s is ready", p.Name)
		} else {
			x.add("models", unsure, "%s lacks %s", p.Name, p.Lacks)
		}
	}
	for _, a := range agents.List() {
		if _, full, err := models.Resolve(a.Model); err != nil {
			x.add("agents", unwell, "%s: model %s: %s", a.Name, a.Model, firstLine(err))
		} else {
			x.add("agents", healthy, "%s talks to %s", a.Name, full)
		}
	}
}

func (x *examination) servers(ctx context.Context, h *running) {
	servers, ok := core.MCP.Get(h.Context)
	if !ok {
		return
	}
	for _, s := range servers.Status(ctx) {
		switch {
		case s.State == core.SourceReady:
			x.add("mcp", healthy, "%s: %d tools %s", s.Name, s.Tools, firstLine(errors.New(s.Detail)))
		case s.State == core.SourceDisabled:
			x.add("mcp", healthy, "%s is disabled", s.Name)
		case s.Consent != nil:
			x.add("mcp", unwell, "%s %s: agentd mcp allow %s", s.Name, s.State, s.Name)
		default:
			x.add("mcp", unwell, "%s is %s: %s", s.Name, s.State, firstLine(errors.New(s.Error+s.Detail)))
		}
	}
}

func (x *examination) search(ctx context.Context, h *running) {
	v, err := h.viewer("")
	if err != nil {
		x.add("tools", unwell, "%s", err)
		return
	}
	search, ok := toolsearch.Service.Get(h.Context)
	if !ok {
		x.add("tools", healthy, "%d tools, all shown to the model: %s", len(h.Tools().Catalog(v)), errNoSearch)
		return
	}
	stats, err := search.Stats(h.within(ctx), v, h.modelOf(v.Agent))
	if err != nil {
		x.add("tools", unwell, "%s", err)
		return
	}
	x.add("tools", healthy, "%d tools, %d shown to the model; %d of %d tokens",
		stats.Tools, stats.Shown, stats.TokensShown, stats.TokensAll)
}

func (x *examination) policy(_ context.Context, h *running) {
	admin, err := h.policyAdmin()
	if err != nil {
		x.add("policy", unsure, "%s", err)
		return
	}
	x.add("policy", healthy, "%d rules", len(admin.Rules()))
	report, err := audit.Verify(admin.AuditFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.add("audit", healthy, "no record yet in %s", admin.AuditFile())
	case err != nil:
		x.add("audit", unwell, "%s", firstLine(err))
	default:
		x.add("audit", healthy, "%d records in order", report.Records)
	}
}

func (x *examination) sessions(ctx context.Context, h *running) {
	store, err := h.sessions()
	if err != nil {
		x.add("sessions", unsure, "%s", err)
		return
	}
	list, err := store.List(ctx)
	if err != nil {
		x.add("sessions", unwell, "%s", firstLine(err))
		return
	}
	x.add("sessions", healthy, "%d kept", len(list))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func printFindings(w io.Writer, findings []finding) {
	st := style{}
	if c, ok := w.(*sink); ok && c.w == os.Stdout {
		st = styleOf(os.Stdout)
	}
	marks := map[health]string{healthy: st.green(goodMark), unsure: st.yellow(warnMark), unwell: st.red(badMark)}
	for _, f := range findings {
		fmt.Fprintf(w, "%s %-9s %s\n", marks[f.State], f.Check, visible(f.Says))
	}
}
