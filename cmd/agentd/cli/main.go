// Package cli is the command line of agentd. A custom binary is
//
//	func main() { os.Exit(cli.Main(plugins.Standard(), cli.Plugin(weather.Plugin))) }
//
// with plugins of its own beside, or instead of, the standard set. Answers go
// to stdout and everything else to stderr, so that every command can stand in
// a pipe.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

// Plugin makes a set of plugins to hand to [Main].
func Plugin(plugins ...core.AnyPlugin) []core.AnyPlugin { return plugins }

// Main runs the command that os.Args name, with these plugins compiled in,
// and returns the exit code. It is called once, from main.
func Main(sets ...[]core.AnyPlugin) int {
	var plugins []core.AnyPlugin
	for _, set := range sets {
		plugins = append(plugins, set...)
	}
	ctx, stop := interruptible()
	defer stop()
	return report(newRoot(plugins).ExecuteContext(ctx))
}

// interruptible is a context that the first SIGINT or SIGTERM cancels; the
// second ends the process.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel()
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// report prints what went wrong and gives the exit code.
func report(err error) int {
	if err == nil {
		return exitFine
	}
	if text := err.Error(); text != "" && !errors.Is(err, context.Canceled) {
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			fmt.Fprintln(os.Stderr, "agentd: "+line)
		}
	}
	return exitCode(err)
}

// newRoot builds the tree of commands.
func newRoot(plugins []core.AnyPlugin) *cobra.Command {
	s := &settings{plugins: plugins, console: &console{out: os.Stderr}}
	root := &cobra.Command{
		Use:   "agentd",
		Short: "A host for LLM agents, built from plugins",
		Long: "agentd runs the agents and tools that agent.yml names, and follows the file\n" +
			"as it changes. Without a command it is the daemon (agentd run).",
		Example: "  agentd chat \"read_file path=README.md\"\n" +
			"  agentd policy set run_command ask\n" +
			"  agentd tools search send a mail",
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return s.check()
		},
	}
	s.register(root.PersistentFlags())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w\nsee %s --help", err, c.CommandPath()))
	})
	run := newRun(s)
	root.RunE = run.RunE
	root.AddCommand(run, newInit(s), newDoctor(s), newChat(s), newSessions(s), newTools(s), newPolicy(s), newPlugins(s), newConfig(s),
		newTrust(s), newApprovals(s), newAudit(s), newMCP(s), newVersion(s))
	addHelp(root)
	return root
}

// noArgs refuses arguments and names the nearest command.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return usageError(fmt.Errorf("%s\nsee %s --help", text, c.CommandPath()))
}

// wantArgs makes cobra's check of arguments a usage error.
func wantArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError(fmt.Errorf("%w\nusage: %s", err, c.UseLine()))
		}
		return nil
	}
}
