// Package core is the host of agentd: it runs plugins in fibers and takes
// back everything that they registered when they go.
//
// A [Plugin] is loaded with [Load] on a [Context] and becomes a [Fiber]. Its
// Apply registers on the context that it is given: effects with an undo,
// goroutines, services, listeners, further plugins. When the fiber unloads
// (because it is disposed, restarted or reconfigured, because it failed, or
// because a service that it requires goes) all of that is undone in reverse
// order, strictly one after the other, after those who use its services were
// unloaded and calls in progress have ended.
//
//	var Clock = core.NewService[clock]("clock")
//
//	var Plugin = core.Plugin[Config]{
//		Name:     "clock",
//		Provides: core.Provides(Clock),
//		Apply: func(c *core.Context, cfg Config) error {
//			t, err := start(cfg)
//			if err != nil {
//				return err
//			}
//			return errors.Join(
//				c.OnDispose(t.Close),
//				Clock.Provide(c, t),
//				c.Go("tick", t.run),
//			)
//		},
//	}
//
//	h := core.New(nil)
//	f, err := core.Load(h.Root(), Plugin, Config{})
//	err = f.Ready(ctx)
//	...
//	err = h.Close(ctx)
//
// # Waiting
//
// Whatever a plugin waits for (Dispose, Update, Restart, Wait, an early stop)
// takes a context: that of the call which waits, or the plugin's own. Waiting
// for something that would wait for the caller is then [ErrSelfWait] instead
// of a deadlock. Calls that a teardown waits for are bounded by
// [Options].Grace; an Apply, Reconfigure or undo that hangs is named in the
// log.
//
// # Tools
//
// A tool is registered with [DefineTool] and belongs to its fiber like all
// else. There is one registry ([Context.Tools]) and one way to run a tool,
// [Tools.Execute]: it finds the tool as the [Viewer] sees it, checks the
// arguments, has the [Decider] decide, and runs the function under the owner's
// lease. What a viewer does not see does not exist for it, whichever layer
// hides it: the tool's scope or groups, a filter, a visibility rule, policy, or
// a disabled source.
//
// Beside tools a plugin can offer prompts ([Context.Prompts]) and resources
// ([Context.Resources]), which MCP clients see. Whatever of it runs can ask and
// tell those on whose behalf it runs: see [CallerOf].
//
// # Concurrency
//
// Everything exported may be used from any goroutine. One lock guards the
// graph; no plugin code runs under it, and reading a service or emitting an
// event takes none.
package core
