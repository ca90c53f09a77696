// Gateway serves MCP servers through the plugin, with a policy that allows
// everything, for the conformance suite and for measurements:
//
//	gateway 127.0.0.1:8080 '{"servers":{"up":{"url":"http://127.0.0.1:8081"}}}'
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/mcp"
)

// open lets everything run.
type open struct{}

func (open) Decide(context.Context, core.DecideRequest) core.Decision {
	return core.Decision{Verdict: core.Allow, Policy: core.Auto, Rule: "open"}
}

func (open) Preview(core.Viewer, *core.Tool) (core.Policy, string) { return core.Auto, "open" }

func (open) Authorize(context.Context, core.Viewer, core.Permission, string) error { return nil }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gateway ADDRESS CONFIG")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h := core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	defer h.Close(context.WithoutCancel(ctx))
	if err := run(ctx, h.Root()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c *core.Context) error {
	policy := core.Plugin[struct{}]{Name: "open", Apply: func(c *core.Context, _ struct{}) error {
		if err := core.Deciders.Provide(c, open{}); err != nil {
			return err
		}
		return core.Permissions.Provide(c, open{})
	}}
	if _, err := core.Load(c, policy, struct{}{}); err != nil {
		return err
	}
	f, err := c.Load(mcp.Plugin, []byte(os.Args[2]))
	if err == nil {
		err = f.Ready(ctx)
	}
	if err != nil {
		return err
	}
	return mcp.Serve(ctx, c, mcp.ServeOptions{HTTP: os.Args[1], Ready: func(url string) { fmt.Println(url) }})
}
