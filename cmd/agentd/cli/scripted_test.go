package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// scriptedConfig is the script of the model "scripted", for the program
// agentd-scripted.
type scriptedConfig struct {
	Replies []scriptedReply `json:"replies,omitempty"`
	// Marks is a file that each tool of the plugin adds its name to when it
	// is entered.
	Marks string `json:"marks,omitempty"`
	// Requests is a file that the messages of each request are added to, as
	// a JSON array a line.
	Requests string `json:"requests,omitempty"`
	// Hangup: the process gets a SIGHUP while the plugin starts, and while
	// it stops.
	Hangup bool `json:"hangup,omitempty"`
	// Waits: the plugin starts for as long as it may.
	Waits bool `json:"waits,omitempty"`
}

type scriptedReply struct {
	Text  string         `json:"text,omitempty"`
	Calls []scriptedCall `json:"calls,omitempty"`
}

type scriptedCall struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

// scripted brings a model that plays a script, and tools of each effect.
var scripted = core.Plugin[scriptedConfig]{
	Name:        "scripted",
	Description: "A model that plays a script, for tests.",
	Needs:       core.Needs(core.Models),
	Apply: func(c *core.Context, cfg scriptedConfig) error {
		if cfg.Hangup {
			if err := errors.Join(hangUp(), c.OnDispose(hangUp)); err != nil {
				return err
			}
		}
		if cfg.Waits {
			if err := errors.Join(mark(cfg.Marks, "waits"), c.OnDispose(func() error { return mark(cfg.Marks, "undone") })); err != nil {
				return err
			}
			<-c.Done()
			return context.Cause(c)
		}
		models, _ := core.Models.Get(c)
		model := coretest.NewModel()
		for _, r := range cfg.Replies {
			model.Add(r.reply(cfg.Requests))
		}
		if err := models.Add(c, "scripted", model); err != nil {
			return err
		}
		for name, traits := range map[string]core.Traits{
			"look":   {Effect: core.Read, Parallel: true, AlwaysLoad: true},
			"change": {Effect: core.Write, Parallel: true, AlwaysLoad: true},
			"launch": {Effect: core.Exec, Parallel: true, AlwaysLoad: true},
			"secret": {Effect: core.Read, Parallel: true, AlwaysLoad: true},
			"block":  {Effect: core.Read, Parallel: true, AlwaysLoad: true},
		} {
			if err := defineMark(c, name, traits, cfg.Marks); err != nil {
				return err
			}
		}
		return nil
	},
}

func hangUp() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGHUP)
}

func defineMark(c *core.Context, name string, traits core.Traits, marks string) error {
	type input struct {
		What string `json:"what,omitempty"`
	}
	return core.DefineTool(c, core.Tool{Name: name, Description: "Marks that it ran: " + name, Traits: traits},
		func(ctx context.Context, in input) (string, error) {
			if err := mark(marks, name+" "+in.What); err != nil {
				return "", err
			}
			if name == "block" {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return name + " did " + in.What, nil
		})
}

func mark(path, line string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (r scriptedReply) reply(requests string) coretest.Reply {
	reply := coretest.Reply{Text: r.Text}
	for _, c := range r.Calls {
		reply.Calls = append(reply.Calls, llm.ToolCall{Name: c.Name, Args: mustJSON(c.Args)})
	}
	return coretest.Reply{Then: func(req *llm.Request) coretest.Reply {
		if err := mark(requests, mustJSON(req.Messages)); err != nil {
			return coretest.Fails(llm.ErrBadRequest, err.Error())
		}
		return reply
	}}
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
