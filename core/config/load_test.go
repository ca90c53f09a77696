package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/config"
)

const example = `# the example of the documentation
tools:
  policy:                       # name, glob or effect
    weather_lookup: auto
    "mcp__github__*": ask
    debug_tool: off
    other_tool: false
version: 1
plugins:
  offline:
  openai: {apiKey: "${OPENAI_API_KEY:-}", baseURL: "${OPENAI_BASE_URL:-}"}
  agent: {model: auto, budgets: {steps: 9}}
  ~weather: {}
  mcp:
    servers:
      files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", "."]}
      docs:  {url: "https://example.com/mcp", headers: {Authorization: "Bearer ${DOCS_TOKEN}"}}
  group:research:
    filter: {include: ["mcp__docs__*", "read_*"]}
    policy: {write_file: off}
    plugins: {agent:reader: {model: "$${x}"}}
`

func TestLoadTheExample(t *testing.T) {
	doc := mustLoad(t, example, "DOCS_TOKEN=s3cret")
	type row struct {
		Name, Config string
		Disabled     bool
		Order        int
	}
	var rows []row
	doc.Walk(func(e *config.Entry) { rows = append(rows, row{e.Name(), string(e.Config), e.Disabled, e.Order}) })
	want := []row{
		{"offline", `{}`, false, 0},
		{"openai", `{"apiKey":"","baseURL":""}`, false, 1},
		{"agent", `{"budgets":{"steps":9},"mode":"fast","model":"auto"}`, false, 2},
		{"weather", `{}`, true, 3},
		{"mcp", `{"servers":{"docs":{"headers":{"Authorization":"Bearer s3cret"},"url":"https://example.com/mcp"},` +
			`"files":{"args":["-y","@modelcontextprotocol/server-filesystem","."],"command":"npx"}}}`, false, 4},
		{"group:research", `{"filter":{"include":["mcp__docs__*","read_*"]}}`, false, 5},
		{"agent:reader", `{"budgets":{"steps":30},"mode":"fast","model":"${x}"}`, false, 6},
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	var policy []string
	for _, r := range doc.Policy {
		policy = append(policy, r.Pattern+"="+r.Value)
	}
	if got := strings.Join(policy, " "); got != "weather_lookup=auto mcp__github__*=ask debug_tool=off other_tool=off" {
		t.Errorf("policy = %s", got)
	}
	g := doc.Entry("research").Group
	if len(g.Filter.Include) != 2 || len(g.Policy) != 1 || g.Policy[0].Value != "off" {
		t.Errorf("group = %+v", g)
	}
	if pos := doc.Entry("reader").Pos; pos.Line != 21 || pos.Column != 15 {
		t.Errorf("position of agent:reader = %v", pos)
	}
}

func TestIssuesSayWhereAndWhatIsAllowed(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a bad policy value", "tools:\n  policy:\n    \"mcp__a.b*\": offf\n",
			`agent.yml:3:18: tools.policy."mcp__a.b*": want auto, ask or off, got "offf"; did you mean "off"?`},
		{"bad patterns", "tools:\n  policy:\n    a/b: ask\n    effect:reed: off\n    efect:read: off\n    \"a(\": off\n    workspace:outside: off\n",
			`agent.yml:3:5: tools.policy.a/b: names of tools are letters, digits, _ - and ., and globs have * and ?; got '/'
agent.yml:4:5: tools.policy.effect:reed: want effect:read, effect:write or effect:exec, got "reed"; did you mean "read"?
agent.yml:5:5: tools.policy.efect:read: there is no "efect:"; did you mean "effect"?
agent.yml:6:5: tools.policy."a(": the parenthesis is never closed; want name(arguments)`},
		{"on", "tools: {policy: {x: on, y: true}}",
			`agent.yml:1:21: tools.policy.x: want auto, ask or off, got "on"; write auto to let it run without asking
agent.yml:1:28: tools.policy.y: want auto, ask or off, got true; write auto to let it run without asking`},
		{"an unknown plugin", "plugins:\n  agnet: {}\n",
			`agent.yml:2:3: plugins.agnet: there is no plugin "agnet": want @aalis/plugin-tool-search, agent, dsh-tool-search, group, mcp, offline, openai, toolpolicy, toolsearch, weather or workspace; did you mean "agent"?`},
		{"an unknown key", "plugins:\n  agent: {modell: x}\n",
			`agent.yml:2:11: plugins.agent.modell: unknown key: want budgets, mode or model; did you mean "model"?`},
		{"an unknown key at the top", "plugin: {}\n",
			`agent.yml:1:1: plugin: unknown key: want plugins, tools or version; did you mean "plugins"?`},
		{"a key of another client at the top", "mcpServers: {}\n",
			`agent.yml:1:1: mcpServers: this belongs under plugins.mcp.mcpServers`},
		{"a renamed option", "plugins: {agent: {maxSteps: 3}}\n",
			`agent.yml:1:19: plugins.agent.maxSteps: this option was renamed; write budgets.steps`},
		{"a wrong type", "plugins:\n  agent: {budgets: {steps: many}}\n",
			`agent.yml:2:28: plugins.agent.budgets.steps: want an integer, got "many"`},
		{"a value out of the type's range", "plugins: {toolsearch: {maxDirectTools: 300}}\n",
			`agent.yml:1:40: plugins.toolsearch.maxDirectTools: want`},
		{"a fraction for an integer", "plugins: {toolsearch: {maxDirectTools: 1.5}}\n",
			`agent.yml:1:40: plugins.toolsearch.maxDirectTools: want an integer, got 1.5`},
		{"a word that older YAML read as a boolean", "plugins: {toolsearch: {on: yes}}\n",
			`agent.yml:1:28: plugins.toolsearch.on: want true or false, got "yes"; did you mean "true"?`},
		{"a duration as a number", "plugins: {agent: {budgets: {wall: 10}}}\n",
			`agent.yml:1:35: plugins.agent.budgets.wall: want a duration such as "10s" or "1m30s", got 10`},
		{"a missing option", "plugins:\n  openai: {}\n",
			`agent.yml:2:3: plugins.openai.apiKey: missing: want a string`},
		{"an item of a list", "plugins:\n  mcp:\n    servers:\n      a:\n        args:\n        - x\n        - 7\n",
			`agent.yml:7:11: plugins.mcp.servers.a.args[1]: want a string, got 7`},
		{"an id that is there twice", "plugins:\n  agent:x: {}\n  group:a:\n    plugins:\n      weather:x: {}\n",
			`agent.yml:5:7: plugins.group:a.plugins.weather:x: the id "x" is taken by agent.yml:2:3; give this entry another: weather:other`},
		{"an entry beside its disabled self", "plugins:\n  agent: {}\n  ~agent: {}\n",
			`agent.yml:3:3: plugins.agent: the entry "agent" is here twice, first in line 2; give one of them an id: agent:other`},
		{"a plugin beside its alias", "plugins:\n  toolsearch: {}\n  dsh-tool-search: {}\n",
			`agent.yml:3:3: plugins.dsh-tool-search: the entry "toolsearch" is here twice, first in line 2; give one of them an id: dsh-tool-search:other`},
		{"a group without an id", "plugins: {group: {}}",
			`agent.yml:1:11: plugins: a group needs an id: group:research`},
		{"a newer format", "version: 2\n",
			`agent.yml:1:10: version: this file is for a newer agentd; this one reads version 1`},
		{"a variable that is not set", "plugins: {agent: {model: \"${MODLE}\"}, openai: {apiKey: \"${KEY}\"}}",
			`agent.yml:1:26: plugins.agent.model: the variable MODLE is not set; set it, or give a default: ${MODLE:-default}; did you mean "MODEL"?
agent.yml:1:56: plugins.openai.apiKey: the variable KEY is not set; set it, or give a default: ${KEY:-default}`},
		{"an empty file", "# nothing\n", "agent.yml: the file is empty; write plugins: {} if no plugin should run"},
		{"issues of all steps", "vresion: 1\ntools: {policy: {a: 1}}\nplugins: {agent: {model: 5}, openai: {apiKey: \"${X\"}}",
			`agent.yml:1:1: vresion: unknown key: want plugins, tools or version; did you mean "version"?
agent.yml:2:21: tools.policy.a: want auto, ask or off, got a number
agent.yml:3:26: plugins.agent.model: want a string, got 5
agent.yml:3:47: plugins.openai.apiKey: ${ without }; write $$ for a dollar`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := load(t, tt.text, "MODEL=x")
			if got != tt.want && !(strings.HasSuffix(tt.want, "want") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
