package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/agent"
	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
	"github.com/agentd-host/agentd/plugins/toolsearch"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// paths is a host with every plugin that can lead to a tool. The tool
// "target" counts how often its function is entered.
type paths struct {
	testing.TB
	host    *core.Host
	c       *core.Context
	model   *coretest.Model
	rules   atomic.Pointer[core.PolicyConfig]
	entered atomic.Int32
	broker  core.Broker
	agents  core.AgentRunner
	admin   *toolpolicy.Admin
}

func (p *paths) Current() *core.PolicyConfig { return p.rules.Load() }

const targetArgs = `{"command":"launch"}`

func newPaths(t testing.TB, policy core.Policy) *paths {
	t.Helper()
	p := &paths{TB: t, model: coretest.NewModel()}
	p.rules.Store(&core.PolicyConfig{Rules: []core.PolicyRule{{Pattern: "*", Value: core.Auto}, {Pattern: "target", Value: policy}}})
	p.host = core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	p.c = p.host.Root()
	t.Cleanup(func() { p.must(p.host.Close(context.WithoutCancel(t.Context()))) })
	state := t.TempDir()
	p.must(core.Environment.Provide(p.c, core.Paths{Dir: filepath.Join(state, "project"), State: state}))
	p.must(core.PolicyRules.Provide(p.c, p))
	p.must(p.c.Tools().Define(core.Tool{
		Name: "target", Description: "The tool in question.", Traits: core.Traits{Effect: core.Exec},
		Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`),
		Run: func(context.Context, *core.Invocation) (core.Result, error) {
			p.entered.Add(1)
			return core.TextResult("launched"), nil
		},
	}))
	// relay stands for a script tool: it calls a tool on behalf of its caller.
	p.must(p.c.Tools().Define(core.Tool{
		Name: "relay", Description: "Calls the tool in question.", Traits: core.Traits{Effect: core.Read},
		Run: func(ctx context.Context, inv *core.Invocation) (core.Result, error) {
			return p.c.Tools().Execute(ctx, core.Call{Name: "target", Args: json.RawMessage(targetArgs),
				Viewer: inv.Viewer, Turn: inv.Turn, Via: core.ViaCode}), nil
		},
	}))
	p.load(agent.Hub)
	load(p, toolpolicy.Plugin, toolpolicy.Config{})
	load(p, toolsearch.Plugin, toolsearch.Config{})
	load(p, core.Plugin[struct{}]{Name: "scripted", Needs: core.Needs(core.Models), Apply: func(c *core.Context, _ struct{}) error {
		models, _ := core.Models.Get(c)
		return models.Add(c, "scripted", p.model)
	}}, struct{}{})
	load(p, agent.Plugin, agent.Config{Name: "main", Model: "scripted"})
	load(p, agent.Plugin, agent.Config{Name: "helper", Model: "scripted", Offer: &agent.Offer{Description: "Helps."}})
	load(p, core.Plugin[struct{}]{Name: "peek", Needs: core.Needs(core.Approvals, core.Agents, toolpolicy.Admins),
		Apply: func(c *core.Context, _ struct{}) error {
			p.broker, _ = core.Approvals.Get(c)
			p.agents, _ = core.Agents.Get(c)
			p.admin, _ = toolpolicy.Admins.Get(c)
			return nil
		}}, struct{}{})
	return p
}

func (p *paths) load(plugin core.Plugin[struct{}]) { load(p, plugin, struct{}{}) }

func load[C any](p *paths, plugin core.Plugin[C], cfg C) {
	p.Helper()
	f, err := core.Load(p.c, plugin, cfg)
	p.must(err)
	p.must(f.Ready(p.c))
}

func (p *paths) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// execute runs a call as somebody who is no model and returns what came back.
func (p *paths) execute(via core.Via, name, args string) string {
	r := p.c.Tools().Execute(p.c, core.Call{Name: name, Args: json.RawMessage(args), Via: via,
		Viewer: core.Viewer{Agent: "main", Session: "s"}, Turn: "t"})
	if r.Err != nil {
		return r.Err.Error()
	}
	return r.Text()
}

// turn runs turns of one session, in each of which the model makes one call,
// and returns everything that the model got back.
func (p *paths) turn(replies ...coretest.Reply) string {
	p.Helper()
	session := ""
	for _, reply := range replies {
		p.model.Add(reply)
		if len(reply.Calls) > 0 {
			p.model.Add(coretest.Says("done"))
		}
		res, err := p.agents.Run(p.c, core.Turn{Agent: "main", Session: session, Message: llm.UserText("go")})
		p.must(err)
		session = res.Session
	}
	var all strings.Builder
	for _, req := range p.model.Requests() {
		for _, m := range req.Messages {
			for _, part := range m.Parts {
				if part.Result != nil {
					all.WriteString(llm.PartsText(part.Result.Parts) + "\n")
				}
			}
		}
	}
	return all.String()
}

// gateway calls a tool as an MCP client that can't be asked.
func (p *paths) gateway(name, args string) string {
	p.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcp.Serve(p.c, p.c, mcp.ServeOptions{In: fromClient, Out: toClient})
		toClient.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(p.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	p.must(err)
	var text strings.Builder
	r, err := session.CallTool(p.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		text.WriteString(err.Error())
	} else {
		for _, c := range r.Content {
			if t, ok := c.(*sdk.TextContent); ok {
				text.WriteString(t.Text)
			}
		}
	}
	session.Close()
	toServer.Close()
	if err := <-ended; err != nil {
		p.Error(err)
	}
	return text.String()
}

// allPaths are the ways to a tool. Whoever adds one adds it here.
var allPaths = map[string]func(p *paths) string{
	"a plugin's own call":      func(p *paths) string { return p.execute(core.ViaPlugin, "target", targetArgs) },
	"typed by a person":        func(p *paths) string { return p.execute(core.ViaPerson, "target", targetArgs) },
	"from an MCP client":       func(p *paths) string { return p.execute(core.ViaMCP, "target", targetArgs) },
	"a tool that calls a tool": func(p *paths) string { return p.execute(core.ViaPerson, "relay", `{}`) },
	"the model":                func(p *paths) string { return p.turn(coretest.Calls("target", targetArgs)) },
	"the model by a relay":     func(p *paths) string { return p.turn(coretest.Calls("relay", `{}`)) },
	"the model by the bridge":  func(p *paths) string { return p.turn(coretest.Calls("tool_call", bridge("target", targetArgs))) },
	"a bridge within a bridge": func(p *paths) string {
		return p.turn(coretest.Calls("tool_call", bridge("tool_call", bridge("target", targetArgs))))
	},
	"the bridge by a person":    func(p *paths) string { return p.execute(core.ViaPerson, "tool_call", bridge("target", targetArgs)) },
	"a relay behind the bridge": func(p *paths) string { return p.turn(coretest.Calls("tool_call", bridge("relay", `{}`))) },
	"a resumed session": func(p *paths) string {
		return p.turn(coretest.Says("hello"), coretest.Calls("target", targetArgs))
	},
	"the MCP gateway":           func(p *paths) string { return p.gateway("target", targetArgs) },
	"the bridge by the gateway": func(p *paths) string { return p.gateway("tool_call", bridge("target", targetArgs)) },
	"a sub-agent": func(p *paths) string {
		p.model.Add(coretest.Calls("agent_helper", `{"task":"launch"}`))
		p.model.Add(coretest.Calls("target", targetArgs), coretest.Says("helped"))
		return p.turn(coretest.Says("done"))
	},
}

func bridge(name, args string) string { return fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args) }

func TestE9_H6_OffAndAskHoldOnEveryPath(t *testing.T) {
	for name, path := range allPaths {
		t.Run(name+", off", func(t *testing.T) {
			p := newPaths(t, core.Off)
			p.wantsRefusal(path(p), orNested(name, unknown(name)))
		})
		t.Run(name+", ask without anybody", func(t *testing.T) {
			p := newPaths(t, core.Ask)
			p.wantsRefusal(path(p), orNested(name, "nobody can be asked"))
		})
		t.Run(name+", ask and no", func(t *testing.T) {
			p := newPaths(t, core.AskOnce)
			person := coretest.NewApprover(core.AnswerReject)
			p.must(p.broker.AddAsker(p.c, person))
			p.wantsRefusal(path(p), orNested(name, "a person refused"))
		})
		t.Run("E10_H14_"+name+", ask and yes", func(t *testing.T) {
			p := newPaths(t, core.Ask)
			person := coretest.NewApprover(core.AnswerOnce)
			p.must(p.broker.AddAsker(p.c, person))
			got := path(p)
			if text := orNested(name, ""); text != "" {
				p.wantsRefusal(got, text)
				return
			}
			asked := person.Asked()
			if p.entered.Load() != 1 || len(asked) != 1 {
				t.Fatalf("entered %d times, asked %d times; got %q", p.entered.Load(), len(asked), got)
			}
			if asked[0].Tool != "target" || string(asked[0].Args) != targetArgs {
				t.Errorf("asked about %s %s, want the inner tool and its arguments", asked[0].Tool, asked[0].Args)
			}
		})
	}
}

// orNested is what a caller is told: bridges within bridges are refused
// whatever is inside.
func orNested(path, text string) string {
	if path == "a bridge within a bridge" {
		return "call it directly"
	}
	return text
}

// unknown is what a caller of a tool that is off, or never was, is told.
func unknown(path string) string {
	if strings.Contains(path, "gateway") {
		return "unknown tool"
	}
	return "there is no tool"
}

// wantsRefusal checks that the tool was not entered, what its caller was
// told, and that the log has a decision and an outcome for each call.
func (p *paths) wantsRefusal(got, text string) {
	p.Helper()
	if p.entered.Load() != 0 {
		p.Error("the tool was entered")
	}
	if !strings.Contains(got, text) || strings.Contains(got, "launched") {
		p.Errorf("got %q, want %q in it", got, text)
	}
	records, err := audit.Tail(p.admin.AuditFile(), 1000)
	p.must(err)
	counts := map[string][2]int{}
	for _, r := range records {
		n := counts[r.Session+r.Call]
		if r.Kind == audit.Decision {
			n[0]++
		} else {
			n[1]++
		}
		counts[r.Session+r.Call] = n
	}
	for call, n := range counts {
		if n != [2]int{1, 1} {
			p.Errorf("call %s has %d decisions and %d outcomes", call, n[0], n[1])
		}
	}
	if len(counts) == 0 && !strings.Contains(got, "unknown tool") { // the gateway looked at its list first
		p.Error("no call was recorded")
	}
}
