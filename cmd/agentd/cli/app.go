package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
	"github.com/agentd-host/agentd/internal/trust"
	"github.com/agentd-host/agentd/plugins/agent"
	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
	"github.com/agentd-host/agentd/plugins/toolsearch"
)

// Deadlines of the process: how long a host may take to start its entries and
// to stop them.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// running is a host in this process, with what agent.yml names started. For
// an edit of the files alone it has only the first two, see withFiles.
type running struct {
	settings *settings
	env      environment

	*core.Context // of the fiber that stands for the commands

	log    *slog.Logger
	loader *loader.Loader
	policy *policyFeed
	trust  *trust.Store
	app    *fx.App
}

// start composes a host and starts it; ctx ending ends the start, and undoes
// it. usual is the log level without flags.
func (s *settings) start(ctx context.Context, usual slog.Level) (*running, error) {
	env, err := findEnvironment(s.config)
	if err != nil {
		return nil, err
	}
	log, closeLog, err := s.logger(usual)
	if err != nil {
		return nil, err
	}
	h := &running{settings: s, env: env, log: log}
	h.app = fx.New(
		fx.WithLogger(func() fxevent.Logger { return quietFx(log) }),
		fx.StopTimeout(stopTimeout),
		fx.Supply(s, env, log, fx.Annotate(ctx, fx.As(new(context.Context)))),
		fx.Supply(fx.Annotate(s.plugins, fx.ResultTags(`group:"plugins,flatten"`))),
		fx.Provide(newTrustStore, newPolicyFeed, newHost, newCommands, newSchema, newLoader),
		fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.StopHook(closeLog.Close))
		}),
		fx.Populate(&h.Context, &h.loader, &h.policy, &h.trust),
	)
	if err := h.app.Err(); err != nil {
		return nil, errors.Join(rootCause(err), closeLog.Close())
	}
	// fx undoes nothing once its context ended: it gets one that ctx does not
	// end, and the time for both ways.
	both, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout+stopTimeout)
	defer cancel()
	if err := h.app.Start(both); err != nil {
		return nil, s.secrets.err(rootCause(err))
	}
	return h, nil
}

// stop disposes everything, within the deadline.
func (h *running) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return rootCause(h.app.Stop(ctx))
}

// withHost runs f with a host of this process, once all that agent.yml names
// is there or failed.
func (s *settings) withHost(ctx context.Context, f func(context.Context, *running) error) error {
	h, err := s.start(ctx, slog.LevelWarn)
	if err != nil {
		return err
	}
	h.awaitServers(ctx, false)
	return s.secrets.err(errors.Join(f(ctx, h), h.stop()))
}

// withTarget runs f with the daemon of this config if one runs, else with a
// host of this process, and says which.
func (s *settings) withTarget(ctx context.Context, f func(context.Context, target) error) error {
	env, daemon, err := s.daemon()
	if err != nil {
		return err
	}
	if daemon != nil && !s.onlyHere() {
		s.say("using the daemon of " + env.Config)
		return f(ctx, target{remote: daemon})
	}
	return s.withHost(ctx, func(ctx context.Context, h *running) error {
		s.say("no daemon runs on this config: using a host of this process")
		return f(ctx, target{local: h})
	})
}

// withDaemon runs f with the daemon of this config; there must be one.
func (s *settings) withDaemon(ctx context.Context, f func(context.Context, target) error) error {
	_, daemon, err := s.daemon()
	if err != nil {
		return err
	}
	if daemon == nil {
		return errors.New("no daemon runs on this config: start one with `agentd run`")
	}
	return f(ctx, target{remote: daemon})
}

// daemon finds the daemon of this config; nil if none runs.
func (s *settings) daemon() (environment, *remote, error) {
	env, err := findEnvironment(s.config)
	if err != nil {
		return env, nil, err
	}
	path, err := env.socketPath()
	if err != nil {
		return env, nil, err
	}
	return env, dialDaemon(path), nil
}

// onlyHere: flags that change the configuration for one run mean nothing to a
// daemon that runs already.
func (s *settings) onlyHere() bool {
	return len(s.set)+len(s.allow)+len(s.deny) > 0 || s.readOnly
}

// say tells people, and not scripts, what is going on.
func (s *settings) say(text string) {
	if s.verbose || isTerminal(os.Stderr) {
		fmt.Fprintln(os.Stderr, "agentd: "+text)
	}
}

// newHost makes the host and disposes it at the end.
func newHost(lc fx.Lifecycle, env environment, log *slog.Logger) *core.Host {
	h := core.New(&core.Options{Logger: log})
	lc.Append(fx.StopHook(h.Close))
	return h
}

// commands makes the fiber through which the commands use services: all of them
// come and go with agent.yml.
var commands = core.Plugin[struct{}]{
	Name: "commands",
	Needs: core.Needs(
		core.Agents.Optional(), core.Sessions.Optional(), core.Approvals.Optional(),
		core.MCP.Optional(), mcp.Admins.Optional(), core.Models.Optional(), toolpolicy.Admins.Optional(), toolsearch.Service.Optional(),
	),
}

// newCommands provides what the program itself contributes, and opens the
// commands' fiber.
func newCommands(h *core.Host, env environment, trust *trust.Store, policy *policyFeed) (*core.Context, error) {
	root := h.Root()
	err := errors.Join(
		core.Environment.Provide(root, env.Paths),
		core.Trust.Provide(root, trust),
		core.PolicyRules.Provide(root, policy),
		core.Secrets.Provide(root, policy),
	)
	if err != nil {
		return nil, err
	}
	hub, err := core.Load(root, agent.Hub, struct{}{})
	if err == nil {
		err = hub.Ready(root)
	}
	if err != nil {
		return nil, err
	}
	opened := make(chan *core.Context, 1)
	p := commands
	p.Apply = func(c *core.Context, _ struct{}) error {
		opened <- c
		return nil
	}
	if _, err := core.Load(root, p, struct{}{}); err != nil {
		return nil, err
	}
	return <-opened, nil
}

func newSchema(s *settings) (*config.Schema, error) { return s.schema() }

// loaderParts are what a loader is made of.
type loaderParts struct {
	fx.In

	Starting context.Context // may end before the start does
	Settings *settings
	Env      environment
	Host     *core.Host
	Commands *core.Context
	Schema   *config.Schema
	Policy   *policyFeed
	Trust    *trust.Store
	Log      *slog.Logger
	Plugins  []core.AnyPlugin `group:"plugins"`
}

// newLoader loads agent.yml at the start and follows it until the end.
func newLoader(lc fx.Lifecycle, p loaderParts) (*loader.Loader, error) {
	l, err := loader.New(p.Host.Root(), loader.Options{
		Schema: p.Schema, Plugins: p.Plugins, Sources: p.Settings.sources(p.Env, p.Trust.TrustedSum),
		Publish: p.Policy.publish, Accept: keepTrust(p.Trust), Log: p.Log,
	})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StartHook(func() error { return firstLoad(p.Starting, l, p.Log) }))
	lc.Append(fx.StartHook(func() error {
		return errors.Join(
			p.Commands.Go("follow agent.yml", func(ctx context.Context) error {
				l.Run(ctx)
				return nil
			}),
			p.Commands.Go("follow trust", func(ctx context.Context) error {
				followTrust(ctx, p.Env, l, p.Trust)
				return nil
			}),
		)
	}))
	lc.Append(fx.StopHook(l.Close))
	return l, nil
}

// firstLoad starts what the configuration names. Entries that fail leave the
// others running; a configuration that is wrong ends the start.
func firstLoad(ctx context.Context, l *loader.Loader, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := l.Reload(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	doc := l.Document()
	if doc == nil {
		return err
	}
	for _, line := range errorLines(err) {
		log.Warn(line)
	}
	if len(doc.LeftOut) > 0 {
		log.Warn("nobody trusted this file yet: agentd trust shows and accepts what was left out", "file", doc.File)
	}
	for _, left := range doc.LeftOut {
		log.Warn("left out: " + left.String())
	}
	return nil
}

// rootCause takes fx's account of constructors off an error that a person
// reads.
func rootCause(err error) error {
	var issues config.Errors
	if errors.As(err, &issues) {
		return issues
	}
	return err
}
