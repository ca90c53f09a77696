package skills

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/schema"
)

// world is a host with the plugin between a workspace and a home.
type world struct {
	*coretest.Fixture
	ws      string
	home    string
	trusted map[string]bool // by content
}

func (w *world) Path() string                       { return w.ws }
func (w *world) Trusted(_ string, text []byte) bool { return w.trusted[string(text)] }

func newWorld(t *testing.T) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return &world{ws: filepath.Join(dir, "ws"), home: filepath.Join(dir, "home"), trusted: map[string]bool{}}
}

// start loads the plugin; with trust there is somebody who knows what people
// accepted. The host ends with the test, or bubble.
func (w *world) start(t *testing.T, trust bool, cfg Config) {
	t.Helper()
	must(t, os.MkdirAll(w.ws, 0o755))
	opts := []coretest.Option{
		coretest.Provide[core.Root](core.Workspace, w),
		coretest.Provide(core.Environment, core.Paths{Home: w.home, Dir: filepath.Dir(w.ws)}),
	}
	if trust {
		opts = append(opts, coretest.Provide[core.Truster](core.Trust, w))
	}
	w.Fixture = coretest.Start(t, Plugin, cfg, opts...)
}

// bring loads a plugin that brings skills along.
func (w *world) bring(t *testing.T, list ...core.Skill) (*core.Fiber, error) {
	t.Helper()
	f, err := core.Load(w.Host.Root(), core.Plugin[struct{}]{
		Name: "bringer", Needs: core.Needs(core.Skills),
		Apply: func(c *core.Context, _ struct{}) error {
			set, _ := core.Skills.Get(c)
			var errs []error
			for _, s := range list {
				errs = append(errs, set.Add(c, s))
			}
			return errors.Join(errs...)
		},
	}, struct{}{})
	must(t, err)
	return f, f.Ready(t.Context())
}

func (w *world) read(name string) core.Result { return w.Call("skill", input{Name: name}) }

func (w *world) description() string {
	for _, tool := range w.Tools() {
		if tool.Name == "skill" {
			return tool.Description
		}
	}
	return ""
}

func TestRule23_SkillsOfWorkspaceHomeAndPlugins(t *testing.T) {
	w := newWorld(t)
	shared := skillFile("the workspace's")
	w.trusted[shared] = true
	write(t, w.ws, map[string]string{".agentd/skills/shared/SKILL.md": shared})
	write(t, w.home, map[string]string{"skills/shared/SKILL.md": skillFile("the home's"), "skills/mine/SKILL.md": skillFile("mine")})
	write(t, filepath.Dir(w.ws), map[string]string{"more/named/SKILL.md": skillFile("named")})
	w.start(t, true, Config{Folders: []string{"more"}})
	_, err := w.bring(t,
		core.Skill{Name: "embedded", Description: "d", Text: "from a plugin"},
		core.Skill{Name: "mine", Description: "d", Text: "hidden by the home's"},
	)
	must(t, err)
	for name, want := range map[string]string{
		"shared": "text of the workspace's\n", "mine": "text of mine\n", "named": "text of named\n", "embedded": "from a plugin",
		"": "embedded: d\nmine: mine\nnamed: named\nshared: the workspace's\n",
	} {
		if got := w.read(name); got.Err != nil || got.Text() != want {
			t.Errorf("skill(%q) = %q, %v; want %q", name, got.Text(), got.Err, want)
		}
	}
	if got := w.read("shard"); got.Err == nil || !strings.Contains(got.Err.Message, `did you mean "shared"?`) {
		t.Errorf("skill(shard): %v", got.Err)
	}
}

func TestRule8_SkillsOfAnUntrustedFolderAreNotRead(t *testing.T) {
	w := newWorld(t)
	write(t, w.ws, map[string]string{".agentd/skills/a/SKILL.md": skillFile("a")})
	for _, trust := range []bool{false, true} {
		w.start(t, trust, Config{})
		if text := w.description(); text != "" {
			t.Errorf("trust service %v: %q", trust, text)
		}
	}
}

func TestSkillsFollowTheirFiles(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.home, "skills", "a", "SKILL.md")
	synctest.Test(t, func(t *testing.T) {
		w.start(t, false, Config{})
		settle := func() {
			time.Sleep(every + time.Second)
			synctest.Wait()
		}
		if text := w.description(); text != "" {
			t.Errorf("a tool without skills: %q", text)
		}
		write(t, w.home, map[string]string{"skills/a/SKILL.md": skillFile("first")})
		settle()
		if text := w.description(); !strings.HasSuffix(text, "- a: first") {
			t.Errorf("after a file came: %q", text)
		}
		write(t, w.home, map[string]string{"skills/a/SKILL.md": skillFile("second")})
		if got := w.read("a"); got.Text() != "text of second\n" {
			t.Errorf("a call right after a change: %q, %v", got.Text(), got.Err)
		}
		synctest.Wait()
		if text := w.description(); !strings.HasSuffix(text, "- a: second") {
			t.Errorf("after a change: %q", text)
		}
		must(t, os.Remove(file))
		settle()
		if text := w.description(); text != "" {
			t.Errorf("after the file went: %q", text)
		}
	})
}

func TestSkillsOfAPluginGoWithIt(t *testing.T) {
	w := newWorld(t)
	w.start(t, false, Config{})
	x := core.Skill{Name: "x", Description: "d", Text: "t"}
	f, err := w.bring(t, x)
	must(t, err)
	if text := w.description(); !strings.HasSuffix(text, "- x: d") {
		t.Errorf("with the plugin: %q", text)
	}
	if _, err := w.bring(t, core.Skill{Name: "y", Description: "d", Text: "t"}, x); err == nil || !strings.Contains(err.Error(), "another plugin brings") {
		t.Errorf("a name taken: %v", err)
	}
	if text := w.description(); strings.Contains(text, "y: d") {
		t.Errorf("what a failed plugin brought stayed: %q", text)
	}
	must(t, f.Dispose(t.Context()))
	if text := w.description(); text != "" {
		t.Errorf("without the plugin: %q", text)
	}
}

// A tool of that name which somebody else has is his; the plugin says so.
func TestToolNameTaken(t *testing.T) {
	w := newWorld(t)
	w.start(t, false, Config{})
	must(t, w.Host.Root().Tools().Define(core.Tool{Name: "skill", Run: func(context.Context, *core.Invocation) (core.Result, error) {
		return core.TextResult("mine"), nil
	}}))
	x := core.Skill{Name: "x", Description: "d", Text: "t"}
	for range 2 { // the failed attempt leaves nothing that a second one meets
		var conflict *core.ToolConflictError
		if _, err := w.bring(t, x); !errors.As(err, &conflict) {
			t.Errorf("bring: %v", err)
		}
	}
}

func TestPluginLeavesNothingBehind(t *testing.T) {
	coretest.CheckPlugin(t, Plugin)
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/SKILL.md": skillFile("a")})
	coretest.CheckReload(t, Plugin, Config{Folders: []string{dir}}, 20)
}

func TestAddRefusesWhatIsNoSkill(t *testing.T) {
	s := newSet(nil, nil)
	if err := s.Add(nil, core.Skill{Name: "a b", Description: "d", Text: "t"}); err == nil {
		t.Error("a name with a space")
	}
}

func TestArgumentsAreDescribed(t *testing.T) {
	for _, err := range schema.Lint(reflect.TypeFor[input]()) {
		t.Error(err)
	}
}

func TestRenderCall(t *testing.T) {
	for args, want := range map[string]string{`{"name": "a"}`: "skill a", `{}`: "skill", `{"name": "\u202e"}`: "skill", `[]`: "skill"} {
		if got := renderCall(json.RawMessage(args)); got != want {
			t.Errorf("%s = %q", args, got)
		}
	}
}

// A plugin that brings a skill is unloaded first when skills goes: taking the
// skill out again is then nothing that can fail.
func TestUnloadingTakesTheSkillsOfOthersAlong(t *testing.T) {
	var log strings.Builder
	host := core.New(&core.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer host.Close(t.Context())
	skills, err := core.Load(host.Root(), Plugin, Config{})
	if err != nil {
		t.Fatal(err)
	}
	bringer := core.Plugin[struct{}]{
		Name: "bringer", Needs: core.Needs(core.Skills.Need()),
		Apply: func(c *core.Context, _ struct{}) error {
			set, _ := core.Skills.Get(c)
			return set.Add(c, core.Skill{Name: "one", Description: "One.", Text: "text"})
		},
	}
	other, err := core.Load(host.Root(), bringer, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := skills.Dispose(t.Context()); err != nil {
		t.Error(err)
	}
	if err := other.Wait(t.Context()); err != nil || other.State() != core.Pending {
		t.Errorf("the other is %s, %v; want pending", other.State(), err)
	}
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}
