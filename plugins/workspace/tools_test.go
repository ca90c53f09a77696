package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/schema"
)

// world is a host with the plugin and doubles of what it may need.
type world struct {
	*coretest.Fixture
	dir string

	deny  func(core.Permission) bool // nil: everything may run
	reply func(core.Question) (core.Reply, error)
	asked []core.Permission
}

func (w *world) start(t *testing.T) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w.dir = dir
	opts := []coretest.Option{
		coretest.Provide(core.Environment, core.Paths{Dir: dir}),
		coretest.Provide[core.Decider](core.Deciders, w),
	}
	if w.reply != nil {
		opts = append(opts, coretest.Provide[core.Broker](core.Approvals, broker{ask: w.reply}))
	}
	w.Fixture = coretest.Start(t, Plugin, Config{}, opts...)
	w.Viewer.Session = "s1"
}

func (w *world) Decide(_ context.Context, req core.DecideRequest) core.Decision {
	w.asked = append(w.asked, req.Permissions...)
	if w.deny != nil && slices.ContainsFunc(req.Permissions, w.deny) {
		return core.Decision{Verdict: core.Deny, Reason: "turned away"}
	}
	return core.Decision{Verdict: core.Allow, Policy: core.Auto}
}

func (w *world) Preview(core.Viewer, *core.Tool) (core.Policy, string) { return core.Auto, "" }

// broker answers free questions; it has no other use here.
type broker struct {
	core.Broker
	ask func(core.Question) (core.Reply, error)
}

func (b broker) Ask(_ context.Context, q core.Question) (core.Reply, error) { return b.ask(q) }

func TestPluginLeavesNothingBehind(t *testing.T) {
	coretest.CheckPlugin(t, Plugin)
	coretest.CheckReload(t, Plugin, Config{Root: t.TempDir()}, 20)
}

func TestArgumentsAreDescribed(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[readInput](), reflect.TypeFor[listInput](), reflect.TypeFor[searchInput](),
		reflect.TypeFor[writeInput](), reflect.TypeFor[editInput](), reflect.TypeFor[commandInput](), reflect.TypeFor[todoInput](), reflect.TypeFor[askInput](),
	} {
		for _, err := range schema.Lint(typ) {
			t.Error(err)
		}
	}
}

// The defaults that the schema shows are those that a zero config means.
func TestConfigDefaultsAreThoseOfTheZeroValue(t *testing.T) {
	var full Config
	must(t, schema.Decode(json.RawMessage(`{}`), &full))
	opts := cmp.AllowUnexported(limits{}, commandLimits{})
	if diff := cmp.Diff(Config{}.limits(), full.limits(), opts); diff != "" {
		t.Errorf("limits: -zero +schema\n%s", diff)
	}
	if diff := cmp.Diff(Config{}.commands(), full.commands(), opts); diff != "" {
		t.Errorf("commands: -zero +schema\n%s", diff)
	}
	must(t, schema.Decode(json.RawMessage(`{"ignoreFiles": []}`), &full))
	if got := full.limits().ignoreFrom; len(got) != 0 {
		t.Errorf("ignoreFiles: [] means %q", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for says, cfg := range map[string]Config{
		"env:":            {Env: []string{"A=b"}},
		"maxLines":        {MaxLines: -1},
		"longer than max": {CommandTimeout: time.Hour, MaxCommandTimeout: time.Minute},
		"ignore:":         {Ignore: []string{"# x"}},
		"ignoreFiles:":    {IgnoreFiles: []string{"a/b"}},
	} {
		wantError(t, cfg.validate(), says)
	}
	must(t, Config{CommandTimeout: time.Hour, Env: []string{"NPM_*"}, Ignore: []string{"*.tmp"}}.validate())
	must(t, Config{MaxCommandTimeout: time.Second}.validate())
}

func permissionText(need []core.Permission) string {
	var out []string
	for _, p := range need {
		out = append(out, p.Name+"("+p.Target+")")
	}
	return strings.Join(out, " ")
}

func TestRule6_PermissionIsComputedFromTheArguments(t *testing.T) {
	var w world
	w.start(t)
	for _, tt := range []struct{ tool, args, want string }{
		{"read_file", `{"path": "./a/../b.txt"}`, "tool:read_file(b.txt)"},
		{"read_file", `{"path": "agent.yml"}`, "tool:read_file(agent.yml)"},
		{"list_files", `{}`, "tool:list_files(.)"},
		{"search_files", `{"pattern": "x", "path": "src/"}`, "tool:search_files(src)"},
		{"write_file", `{"path": "docs/a", "content": ""}`, "tool:write_file(docs/a)"},
		{"write_file", `{"path": "x/../agent.yml", "content": ""}`, "tool:write_file(agent.yml) workspace:guarded(agent.yml)"},
		{"edit_file", `{"path": ".GIT/config", "old_text": "a", "new_text": "b"}`, "tool:edit_file(.GIT/config) workspace:guarded(.GIT/config)"},
		{"write_file", `{"path": "` + filepath.ToSlash(w.dir) + `/a", "content": ""}`, "tool:write_file(a)"},
		{"run_command", `{"command": "git status && go  test './...'"}`, "tool:run_command(git status) tool:run_command(go test ./...)"},
		{"run_command", `{"argv": ["git", "log; rm x"]}`, "tool:run_command(git 'log; rm x')"},
		{"run_command", `{"command": "git log > x"}`, `tool:run_command(git log '>' x) tool:run_command(git log) tool:run_command(sh -c 'git log > x')`},
	} {
		need, err := w.Tool(tt.tool).Permission(json.RawMessage(tt.args))
		if got := permissionText(need); err != nil || got != tt.want {
			t.Errorf("%s %s needs %s, %v; want %s", tt.tool, tt.args, got, err, tt.want)
		}
	}
	for _, args := range []string{`{"path": "../x"}`, `{"path": "/etc/passwd"}`, `{"path": "a/../../x"}`, `{"path": "a\u0000"}`} {
		if need, err := w.Tool("read_file").Permission(json.RawMessage(args)); err == nil {
			t.Errorf("read_file %s needs only %s", args, permissionText(need))
		}
	}
}

func TestToolsWorkInTheFolderOfTheConfig(t *testing.T) {
	unixOnly(t)
	var w world
	w.start(t)
	for _, tt := range []struct{ tool, args, want string }{
		{"write_file", `{"path": "d/a.txt", "content": "one\ntwo\n"}`, "created d/a.txt: 2 lines"},
		{"read_file", `{"path": "d/a.txt"}`, "one\ntwo\n"},
		{"edit_file", `{"path": "d/a.txt", "old_text": "two", "new_text": "2"}`, "edited d/a.txt: line 2, 1 line replaced by 1 line"},
		{"search_files", `{"pattern": "\\d"}`, "d/a.txt:2: 2\n[1 matching line in 1 file]\n"},
		{"list_files", `{}`, "d/\n"},
		{"run_command", `{"command": "cat d/a.txt"}`, "one\n2\n[exit code 0]\n"},
	} {
		if got := w.call(t, tt.tool, tt.args); got.Err != nil || got.Text() != tt.want {
			t.Errorf("%s %s = %q, %v; want %q", tt.tool, tt.args, got.Text(), got.Err, tt.want)
		}
	}
}

func TestE15_LinksNeedThePermissionOfWhatTheyLeadTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	w := world{deny: func(p core.Permission) bool {
		return p.Name == guardedPermission || p.Target == "secret/key"
	}}
	w.start(t)
	for name, content := range map[string]string{"agent.yml": "a", "secret/key": "k", "docs/a": "x"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(w.dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644))
	}
	for name, target := range map[string]string{"notes": "agent.yml", "docs/up": "../secret", "d": "docs"} {
		must(t, os.Symlink(target, filepath.Join(w.dir, name)))
	}
	for tool, args := range map[string]string{
		"write_file": `{"path": "notes", "content": "x"}`,
		"edit_file":  `{"path": "notes", "old_text": "a", "new_text": "x"}`,
		"read_file":  `{"path": "docs/up/key"}`,
	} {
		if got := w.call(t, tool, args); got.Err == nil || !strings.Contains(got.Err.Message, "turned away") {
			t.Errorf("%s %s = %q, %v", tool, args, got.Text(), got.Err)
		}
	}
	if got := w.call(t, "read_file", `{"path": "d/a", "numbers": true}`); got.Text() != "     1\tx\n" {
		t.Errorf("an allowed link: %q, %v", got.Text(), got.Err)
	}
	want := core.Permission{Name: "tool:read_file", Target: "docs/a"}
	if last := w.asked[len(w.asked)-1]; last != want {
		t.Errorf("asked for %v, want %v", last, want)
	}
}

func TestRule7_AgentdsOwnFilesAreGuarded(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	f, err := openFolder(dir, limits{})
	must(t, err)
	defer f.Close()
	f.guard(filepath.Join(dir, "conf", "My.yml"), filepath.Join(dir, "state"), "", dir, "/elsewhere")
	for name, want := range map[string]bool{
		"conf/My.yml": true, "CONF/my.YML": true, "state": true, "state/grants.json": true,
		"conf/other": false, "statement": false, "elsewhere": false, "a": false, ".agentd/x": true,
	} {
		if got := f.isGuarded(name); got != want {
			t.Errorf("isGuarded(%q) = %v", name, got)
		}
	}
}

func TestAskUser(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply func(core.Question) (core.Reply, error)
		want  string
		says  string // of the error
	}{
		{"answer", func(q core.Question) (core.Reply, error) {
			return core.Reply{Text: q.From + " " + q.Session + " " + q.Text + " " + strings.Join(q.Choices, "|")}, nil
		}, "ask_user s1 which? a|b", ""},
		{"declined", func(core.Question) (core.Reply, error) { return core.Reply{Declined: true}, nil }, "[the user would not answer]", ""},
		{"empty", func(core.Question) (core.Reply, error) { return core.Reply{}, nil }, "[the user gave an empty answer]", ""},
		{"nobody", func(core.Question) (core.Reply, error) { return core.Reply{}, core.ErrNobodyToAsk }, "", "nobody can be asked now; go on"},
		{"no broker", nil, "", "nobody can be asked now; go on"},
		{"trouble", func(core.Question) (core.Reply, error) { return core.Reply{}, errors.New("broken") }, "", "broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := world{reply: tt.reply}
			w.start(t)
			got := w.call(t, "ask_user", `{"question": "which?", "choices": ["a", "b"]}`)
			if tt.says != "" {
				if got.Err == nil || !strings.Contains(got.Err.Message, tt.says) {
					t.Errorf("error = %v, want %q", got.Err, tt.says)
				}
			} else if got.Err != nil || got.Text() != tt.want {
				t.Errorf("got %q, %v; want %q", got.Text(), got.Err, tt.want)
			}
		})
	}
}

func TestRule14_ASubAgentAsksTheUserOfTheSessionThatBegan(t *testing.T) {
	w := world{reply: func(q core.Question) (core.Reply, error) { return core.Reply{Text: q.Session}, nil }}
	w.start(t)
	w.Viewer.Parent, w.Viewer.Session = w.Viewer.Session, "child"
	if got := w.call(t, "ask_user", `{"question": "which?"}`); got.Err != nil || got.Text() != "s1" {
		t.Errorf("asked in %q, %v; want s1", got.Text(), got.Err)
	}
}

// memorySession keeps events.
type memorySession struct {
	core.Session
	events []core.SessionEvent
}

func (s *memorySession) Append(_ context.Context, events ...core.SessionEvent) error {
	s.events = append(s.events, events...)
	return nil
}

func (s *memorySession) Events(context.Context) ([]core.SessionEvent, error) { return s.events, nil }

func TestTodosLiveInTheSession(t *testing.T) {
	var w world
	w.start(t)
	session := &memorySession{events: []core.SessionEvent{{Kind: core.EventMessage}}}
	ctx := core.WithSession(t.Context(), session)
	for _, tt := range []struct{ args, want string }{
		{`{}`, "[the list is empty]"},
		{`{"todos": [{"content": "a", "status": "completed"}, {"content": "b\nc", "status": "in_progress"}, {"content": "d"}]}`,
			"[x] a\n[>] b c\n[ ] d\n[1 of 3 done]\n"},
		{`{}`, "[x] a\n[>] b c\n[ ] d\n[1 of 3 done]\n"},
		{`{"todos": []}`, "[the list is empty]"},
		{`{}`, "[the list is empty]"},
	} {
		if got := w.callIn(ctx, "todo_write", tt.args); got.Err != nil || got.Text() != tt.want {
			t.Errorf("%s = %q, %v; want %q", tt.args, got.Text(), got.Err, tt.want)
		}
	}
	if n := len(session.events); n != 3 {
		t.Errorf("%d events; showing the list must not write one", n)
	}
	if got := w.call(t, "todo_write", `{"todos": []}`); got.Err == nil {
		t.Errorf("without a session: %q", got.Text())
	}
}

func TestRendersAreOneShortLine(t *testing.T) {
	for _, tt := range []struct{ tool, args, want string }{
		{"read_file", `{"path": "a.go", "offset": 3}`, "read_file a.go"},
		{"list_files", `{}`, "list_files ."},
		{"search_files", `{"pattern": "a b", "name": "*.go"}`, `search_files "a b" *.go`},
		{"run_command", `{"argv": ["go", "test", "a b"]}`, "run_command go test 'a b'"},
		{"run_command", `{"command": "a\nb"}`, "run_command a b"},
		{"todo_write", `{"todos": [{}, {}]}`, "todo_write 2 items"},
		{"todo_write", `{}`, "todo_write"},
		{"ask_user", `{"question": "why?"}`, "ask_user why?"},
		{"read_file", `{"path": 1}`, "read_file"},
		{"read_file", `{"path": "\u202e` + strings.Repeat("x", 500) + `"}`, `"read_file \u202e` + strings.Repeat("x", 103) + "..."},
	} {
		if got := renderCall(tt.tool)(json.RawMessage(tt.args)); got != tt.want {
			t.Errorf("%s %s = %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"a\nb\n[lines 1-2 of 3; read on with offset=3]\n": "lines 1-2 of 3; read on with offset=3",
		"a\nb\n":          "2 lines",
		"edited x: y":     "edited x: y",
		"[exit code 1]\n": "exit code 1",
	} {
		if got := renderResult(core.TextResult(text)); got != want {
			t.Errorf("result %q = %q, want %q", text, got, want)
		}
	}
	if got := renderResult(core.Result{Err: &core.ToolError{Message: "no\nfile"}}); got != "no file" {
		t.Errorf("error = %q", got)
	}
}

func (w *world) call(t *testing.T, tool, args string) core.Result {
	t.Helper()
	return w.Call(tool, json.RawMessage(args))
}

func (w *world) callIn(ctx context.Context, tool, args string) core.Result {
	return w.Host.Root().Tools().Execute(ctx, core.Call{Name: tool, Args: json.RawMessage(args), Viewer: w.Viewer})
}
