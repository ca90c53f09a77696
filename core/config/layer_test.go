package config_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/agentd-host/agentd/core/config"
)

func names(doc *config.Document) []string {
	var out []string
	doc.Walk(func(e *config.Entry) {
		mark := ""
		if e.Disabled {
			mark = "~"
		}
		out = append(out, mark+e.Name())
	})
	return out
}

func TestLayersMergeInOrder(t *testing.T) {
	home := write(t, `
tools: {policy: {a: ask, b: off}}
plugins:
  openai: {apiKey: home}
  agent: {model: home, mode: slow, budgets: {steps: 5}}
  ~weather: {}
  mcp: {servers: {x: {command: home, args: [a, b, c]}}}
`)
	file := write(t, `
tools: {policy: {b: auto}}
plugins:
  weather:
  mcp: {servers: {x: {args: [z]}, y: {command: file}}}
  agent: {model: file, budgets: {wall: 10s}}
`)
	doc, problem := loadSources(t, config.Sources{
		Builtin: []byte("plugins: {offline: {}, agent: {mode: fast}}"),
		Home:    home, File: file, Named: true,
		Environ: []string{"AGENTD_PLUGINS__AGENT__BUDGETS__STEPS=9", "AGENTD_HOME=/x", "AGENTD_CONFIG=/y",
			"AGENTD_PLUGINS__MCP__SERVERS__Y__COMMAND=env", "AGENTD_PLUGINS__WORKSPACE__ROOT=/w", "AGENTD_MINE=1"},
		Reserved: []string{"AGENTD_MINE"},
		Set: []string{`tools.policy."mcp__a*"=off`, "plugins.agent.budgets.steps=10", "plugins.~openai={}",
			`plugins.mcp.servers.x.args=["1"]`},
	})
	if problem != "" {
		t.Fatal(problem)
	}
	if d := cmp.Diff([]string{"weather", "mcp", "agent", "~openai", "offline", "workspace"}, names(doc)); d != "" {
		t.Errorf("order: %s", d)
	}
	for id, want := range map[string]string{
		"agent":     `{"budgets":{"steps":10,"wall":"10s"},"mode":"slow","model":"file"}`,
		"mcp":       `{"servers":{"x":{"args":["1"],"command":"home"},"y":{"command":"env"}}}`,
		"openai":    `{"apiKey":"home"}`,
		"workspace": `{"root":"/w"}`,
	} {
		if got := string(doc.Entry(id).Config); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
	policy := map[string]string{}
	for _, r := range doc.Policy {
		policy[r.Pattern] = r.Value
	}
	if d := cmp.Diff(map[string]string{"a": "ask", "b": "auto", "mcp__a*": "off"}, policy); d != "" {
		t.Error(d)
	}
}

func TestAnotherPluginUnderTheSameIDReplacesTheEntry(t *testing.T) {
	doc, problem := loadSources(t, config.Sources{Home: write(t, "plugins: {agent:a: {model: x}}"),
		File: write(t, "plugins: {weather:a: {}}"), Named: true})
	if problem != "" {
		t.Fatal(problem)
	}
	if e := doc.Entry("a"); e.Plugin != "weather" || string(e.Config) != "{}" || e.Pos.File != doc.File {
		t.Errorf("got %+v", e)
	}
}

func TestIssuesOfOtherLayers(t *testing.T) {
	file := "plugins: {agent: {}, mcp: {servers: {a: {}}}}"
	tests := []struct{ name, env, set, home, want string }{
		{name: "a wrong type", env: "AGENTD_PLUGINS__AGENT__BUDGETS__STEPS=many",
			want: "env AGENTD_PLUGINS__AGENT__BUDGETS__STEPS: plugins.agent.budgets.steps: want an integer, got another value"},
		{name: "an unknown option", env: "AGENTD_PLUGINS__AGENT__MODLE=x",
			want: `env AGENTD_PLUGINS__AGENT__MODLE: plugins.agent has no option MODLE; want budgets, mode or model; did you mean "mode"?`},
		{name: "an unknown plugin", env: "AGENTD_PLUGINS__AGNET__MODEL=x",
			want: `env AGENTD_PLUGINS__AGNET__MODEL: no plugin AGNET; want @aalis/plugin-tool-search, agent, dsh-tool-search, group, mcp, offline, openai, toolpolicy, toolsearch, weather or workspace; did you mean "agent"?`},
		{name: "a mapping", env: "AGENTD_PLUGINS__AGENT__BUDGETS=x",
			want: "env AGENTD_PLUGINS__AGENT__BUDGETS: plugins.agent.budgets is no single value; only numbers, texts and true or false can be set from the environment"},
		{name: "a policy", env: "AGENTD_TOOLS__POLICY__X=off",
			want: `env AGENTD_TOOLS__POLICY__X: policy can't be set from the environment; use --set 'tools.policy."NAME"=off'`},
		{name: "nothing known", env: "AGENTD_PLUGNS__X=1",
			want: "env AGENTD_PLUGNS__X: no such setting; want AGENTD_PLUGINS__<PLUGIN>__<OPTION>, AGENTD_CONFIG or AGENTD_HOME"},
		{name: "a bad policy value", set: "tools.policy.x=offf",
			want: `--set tools.policy.x: want auto, ask or off, got "offf"`},
		{name: "a wrong type in a setting", set: "plugins.agent.budgets.steps=abc",
			want: `--set plugins.agent.budgets.steps: want an integer, got "abc"`},
		{name: "a secret in a setting", set: "plugins.openai.apiKey=[canary]",
			want: "--set plugins.openai.apiKey: want a string, got another value"},
		{name: "no value", set: "plugins.agent.model",
			want: "--set plugins.agent.model: there is no = after the path"},
		{name: "no path", set: "=x",
			want: `--set : want path=value, as in plugins.agent.model=auto or tools.policy."a*"=off`},
		{name: "an unknown section", set: "plugin.x=1",
			want: `--set plugin.x: no such setting; want plugins.<plugin>.<option> or tools.policy.<pattern>; did you mean "plugins"?`},
		{name: "an unknown option in a setting", set: "plugins.agent.modell=x",
			want: `--set plugins.agent.modell: unknown key: want budgets, mode or model; did you mean "model"?`},
		{name: "broken YAML in a setting", set: "plugins.agent.budgets={",
			want: "--set plugins.agent.budgets: the value begins like YAML and is none; check brackets and quotes"},
		{name: "a mapping that meets a scalar", home: "plugins: {mcp: {servers: {a: x}}}",
			want: "agent.yml:1:41: plugins.mcp.servers.a: does not fit to what HOME:1:27 says: want no mapping, got one"},
		{name: "an issue in the user's file", home: "plugins: {agent: {mode: x}}",
			want: `HOME:1:25: plugins.agent.mode: want fast or slow, got "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := config.Sources{File: write(t, file), Named: true}
			if tt.env != "" {
				src.Environ = []string{tt.env}
			}
			if tt.set != "" {
				src.Set = []string{tt.set}
			}
			if tt.home != "" {
				src.Home = write(t, tt.home)
			}
			_, got := loadSources(t, src)
			if src.Home != "" {
				got = strings.ReplaceAll(got, src.Home, "HOME")
			}
			if got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestDotsInKeysAreNotPaths(t *testing.T) {
	doc := mustLoad(t, `plugins: {mcp: {servers: {"a.b": {command: x}, a: {command: y}}}}`)
	want := `{"servers":{"a":{"command":"y"},"a.b":{"command":"x"}}}`
	for range 50 {
		if got := string(doc.Entry("mcp").Config); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestPluginsAsAListAndUnderOtherNames(t *testing.T) {
	doc := mustLoad(t, `
plugins:
  - id: dsh-tool-search
    config: {maxDirectTools: 8}
  - {id: agent:x}
  - {id: ~weather}
`)
	if d := cmp.Diff([]string{"toolsearch", "agent:x", "~weather"}, names(doc)); d != "" {
		t.Error(d)
	}
	if got := string(doc.Entry("toolsearch").Config); got != `{"maxDirectTools":8,"preset":"dsh"}` {
		t.Errorf("got %s", got)
	}
	doc = mustLoad(t, `plugins: {"@aalis/plugin-tool-search": {preset: chatluna}}`)
	if got := string(doc.Entry("toolsearch").Config); got != `{"maxDirectTools":20,"preset":"chatluna"}` {
		t.Errorf("what the file says does not win: %s", got)
	}
	for text, want := range map[string]string{
		"plugins: [x]":                          "agent.yml:1:11: plugins: an item of a plugins list is {id: name, config: {...}}",
		"plugins: [{config: {}}]":               "agent.yml:1:11: plugins: this item has no id; want {id: name, config: {...}}",
		"plugins: [{id: agent, confg: {a: 1}}]": `agent.yml:1:23: plugins.confg: an item of a plugins list has a text id and a mapping config; did you mean "config"?`,
	} {
		if _, got := load(t, text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestDefaultsDoNotChangeTheDigest(t *testing.T) {
	a := mustLoad(t, "plugins: {agent: {}}").Entry("agent")
	b := mustLoad(t, "plugins: {agent: {budgets: {steps: 30}, mode: fast}}").Entry("agent")
	c := mustLoad(t, "plugins: {agent: {budgets: {steps: 31}}}").Entry("agent")
	if a.Digest != b.Digest {
		t.Errorf("writing a default out changes the digest: %s and %s", a.Config, b.Config)
	}
	if a.Digest == c.Digest {
		t.Error("another value has the same digest")
	}
}

func TestAMissingFileIsToldApart(t *testing.T) {
	_, err := newSchema(t).Load(config.Sources{File: filepath.Join(t.TempDir(), "agent.yml")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "agent.yml: no such file") {
		t.Errorf("got %v", err)
	}
	doc, problem := loadSources(t, config.Sources{Home: filepath.Join(t.TempDir(), "none.yml")})
	if problem != "" || len(doc.Entries) != 0 {
		t.Errorf("no file at all: %v, %s", doc, problem)
	}
}

// The document for editors and the checks of Load must not disagree.
func TestSchemaDocumentAgreesWithLoad(t *testing.T) {
	s := newSchema(t)
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	if err := c.AddResource("agent.json", strings.NewReader(string(s.JSON()))); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("agent.json")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		`{}`, `{"plugins": null}`, `{"plugins": {"agent": null}}`, `{"plugins": {"~agent:x": {"model": "a"}}}`,
		`{"plugins": {"group:a": {"filter": {"include": ["x"]}, "policy": {"x": false}, "plugins": {"agent": {}}}}}`,
		`{"plugins": {"dsh-tool-search": {"preset": "dsh"}}}`, `{"plugins": [{"id": "agent", "config": {}}]}`,
		`{"tools": {"policy": {"a": "ask!", "b": "off"}}, "version": 1}`,
		`{"plugins": {"agent": {"budgets": {"wall": "10s"}}}}`,
		// and what must not pass
		`{"version": 2}`, `{"plugin": {}}`, `{"plugins": {"agnet": {}}}`, `{"plugins": {"agent": {"modle": "x"}}}`,
		`{"plugins": {"group": {}}}`, `{"plugins": {"group:a": {"plugins": {"nope": {}}}}}`,
		`{"tools": {"policy": {"a": "no"}}}`, `{"tools": {"policy": {"a": true}}}`, `{"tools": {"x": 1}}`,
		`{"plugins": {"openai": {}}}`, `{"plugins": {"openai": null}}`, `{"plugins": {"agent": {"budgets": {"steps": 0}}}}`,
		`{"plugins": {"agent": {"budgets": {"wall": 10}}}}`, `{"plugins": [{"config": {}}]}`,
		`{"plugins": {"group:a": {"policy": {"x": "nope"}}}}`, `{"plugins": {"group:a": {"filter": {"includes": []}}}}`,
	}
	for _, text := range texts {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		bySchema := compiled.Validate(v)
		_, problem := load(t, text) // JSON is YAML
		if (bySchema == nil) != (problem == "") {
			t.Errorf("%s:\nthe schema says %v\nLoad says %s", text, bySchema, problem)
		}
	}
}

func TestNewSchemaRefusesTwoPluginsOfOneName(t *testing.T) {
	_, err := config.NewSchema(config.Plugin{Name: "a"}, config.Plugin{Name: "b", Aliases: []config.Alias{{Name: "a"}}})
	if err == nil || err.Error() != "plugin b: the name a is taken by plugin a" {
		t.Errorf("got %v", err)
	}
	_, err = config.NewSchema(config.Plugin{Name: "a", Config: reflect.TypeFor[[]string]()})
	if err == nil {
		t.Error("a config type that is no struct was accepted")
	}
}

func TestLint(t *testing.T) {
	if errs := config.Lint(plugins()...); len(errs) > 0 {
		t.Errorf("the test's own plugins: %v", errs)
	}
	type bad struct {
		A string `json:"a,omitempty" jsonschema:"descripton=x"`
		B int    `json:"b,omitempty" jsonschema:"default=0,minimum=1"`
	}
	errs := config.Lint(config.Plugin{Name: "bad", Config: reflect.TypeFor[bad](),
		Folders: []string{"c"}, Renamed: map[string]string{"a": "d"}})
	text := errors.Join(errs...).Error()
	for _, want := range []string{"descripton", "default of b", `option "c" of Folders`, `"a" was renamed and is an option`, `renamed to "d"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not found in:\n%s", want, text)
		}
	}
}

func TestE26_ShowHoldsNoSecret(t *testing.T) {
	const canary = "canary-4711"
	doc, problem := loadSources(t, config.Sources{File: write(t, strings.ReplaceAll(example, "${OPENAI_API_KEY:-}", canary)+
		"  workspace: {root: \"${ROOT:-"+canary+"}/x$$y\"}\n"+
		"  openai:b: {apiKey: x, headers: {A: "+canary+", B: \""+canary+" ${DOCS_TOKEN}\"}}\n"), Named: true,
		Environ: []string{"DOCS_TOKEN=" + canary, "OPENAI_BASE_URL=" + canary, "AGENTD_PLUGINS__AGENT__MODEL=" + canary}})
	if problem != "" {
		t.Fatal(problem)
	}
	shown, err := doc.Show()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(shown), canary) {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	for _, want := range []string{"apiKey: \"<redacted>\"", "Bearer ${DOCS_TOKEN}", "${OPENAI_BASE_URL}", "A: \"<redacted>\"", "B: \"${DOCS_TOKEN}\"", "<from env AGENTD_PLUGINS__AGENT__MODEL>",
		"~weather: {}", "group:research:", "write_file: off", "steps: 9", "${ROOT}/x$y"} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%q is missing in:\n%s", want, shown)
		}
	}
}
