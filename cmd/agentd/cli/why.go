package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

func newToolsWhy(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "why NAME",
		Short:   "Say what hides, defers or asks about a tool",
		Example: "  agentd tools why run_command",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}
	return toolsWhy.command(s.withTarget, c, theTool(c), printWhy)
}

// standing is where a tool stands for a viewer.
type standing struct {
	core.ToolStanding
	Name string `json:"name"`
	// Shown: a request that begins now would carry its definition.
	Shown bool `json:"shown"`
}

var toolsWhy = operation[showTool, standing]{"tools/why",
	func(ctx context.Context, h *running, in showTool) (standing, error) {
		v, err := h.viewer(in.Agent)
		if err != nil {
			return standing{}, err
		}
		s := standing{ToolStanding: h.Tools().Why(v, in.Name), Name: in.Name}
		if s.Layer == "unknown" {
			return s, h.unknownTool(v, in.Name)
		}
		surface, err := h.surface(ctx, v)
		if err != nil {
			return s, err
		}
		_, s.Shown = find(surface.Tools, in.Name, func(t core.Tool) string { return t.Name })
		return s, nil
	}}

// surface is what a request that begins now would show to the viewer.
func (h *running) surface(ctx context.Context, v core.Viewer) (core.Surface, error) {
	model := h.modelOf(v.Agent)
	in := core.Surface{Viewer: v, Model: model, Tools: h.Tools().List(v), DryRun: true}
	return core.ToolSurface.Run(h.within(ctx), in,
		func(_ context.Context, s core.Surface) (core.Surface, error) { return s, nil })
}

func printWhy(w io.Writer, s standing) {
	switch {
	case !s.Visible:
		fmt.Fprintf(w, "%s is hidden by %s", s.Name, s.Layer)
		if s.Detail != "" {
			fmt.Fprintf(w, ": %s", visible(s.Detail))
		}
		fmt.Fprintln(w)
		return
	case s.Shown:
		fmt.Fprintf(w, "%s is shown to the model\n", s.Name)
	default:
		fmt.Fprintf(w, "%s is deferred: a model finds it by search\n", s.Name)
	}
	if s.Entry.Policy != "" {
		fmt.Fprintf(w, "policy %s, by %s\n", s.Entry.Policy, visible(s.Entry.Rule))
	}
	if s.Entry.State != "" && s.Entry.State != core.SourceReady {
		fmt.Fprintf(w, "its source is %s\n", s.Entry.State)
	}
}
