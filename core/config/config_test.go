package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/core/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type agentConfig struct {
	Model   string  `json:"model,omitempty" jsonschema:"default=auto" jsonschema_description:"Which model."`
	Mode    string  `json:"mode,omitempty" jsonschema:"enum=fast,enum=slow,default=fast"`
	Budgets budgets `json:"budgets,omitzero"`
}

type budgets struct {
	Steps int           `json:"steps,omitempty" jsonschema:"default=30,minimum=1"`
	Wall  time.Duration `json:"wall,omitempty"`
}

type openaiConfig struct {
	APIKey  string            `json:"apiKey" jsonschema:"writeOnly=true"`
	BaseURL string            `json:"baseURL,omitempty"`
	Headers map[string]string `json:"headers,omitempty" jsonschema_extras:"writeOnly=true"`
}

type mcpConfig struct {
	Servers map[string]server `json:"servers,omitempty"`
	Pasted  map[string]server `json:"mcpServers,omitempty"`
}

type server struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Type    string            `json:"type,omitempty" jsonschema:"enum=stdio,enum=http,enum=sse"`
	Off     bool              `json:"disabled,omitempty"`
}

type searchConfig struct {
	Preset string `json:"preset,omitempty" jsonschema:"enum=aalis,enum=chatluna,enum=dsh"`
	Max    int8   `json:"maxDirectTools,omitempty" jsonschema:"default=20"`
	On     bool   `json:"on,omitempty"`
}

type workspaceConfig struct {
	Root string `json:"root,omitempty" jsonschema:"default=."`
}

func plugins() []config.Plugin {
	return []config.Plugin{
		{Name: "offline", Harmless: true},
		{Name: "agent", Title: "The turn loop", Config: reflect.TypeFor[agentConfig](), Harmless: true,
			Renamed: map[string]string{"maxSteps": "budgets.steps"}},
		{Name: "openai", Config: reflect.TypeFor[openaiConfig](), Harmless: true},
		{Name: "mcp", Config: reflect.TypeFor[mcpConfig](), Harmless: true},
		{Name: "toolpolicy", Harmless: true},
		{Name: "workspace", Config: reflect.TypeFor[workspaceConfig](), Harmless: true, Folders: []string{"root"}},
		{Name: "weather"},
		{Name: "toolsearch", Config: reflect.TypeFor[searchConfig](), Harmless: true, Aliases: []config.Alias{
			{Name: "@aalis/plugin-tool-search", Options: map[string]any{"preset": "aalis"}},
			{Name: "dsh-tool-search", Options: map[string]any{"preset": "dsh"}},
		}},
	}
}

func newSchema(t testing.TB) *config.Schema {
	t.Helper()
	s, err := config.NewSchema(plugins()...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write puts text into a new folder as agent.yml.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads text as a file that a person named. Paths in the error are cut to
// the file's name.
func load(t testing.TB, text string, environ ...string) (*config.Document, string) {
	t.Helper()
	return loadSources(t, config.Sources{File: write(t, text), Named: true, Environ: environ})
}

func loadSources(t testing.TB, src config.Sources) (*config.Document, string) {
	t.Helper()
	doc, err := newSchema(t).Load(src)
	if err == nil {
		return doc, ""
	}
	text := strings.ReplaceAll(err.Error(), filepath.Dir(src.File)+string(filepath.Separator), "")
	return nil, text
}

func mustLoad(t testing.TB, text string, environ ...string) *config.Document {
	t.Helper()
	doc, problem := load(t, text, environ...)
	if problem != "" {
		t.Fatalf("load:\n%s\nof:\n%s", problem, text)
	}
	return doc
}
