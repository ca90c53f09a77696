package skills

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// world is a host with the plugin between a workspace and a home.
type world struct {
	host    *core.Host
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
// accepted.
func (w *world) start(t *testing.T, trust bool, cfg Config) {
	t.Helper()
	must(t, os.MkdirAll(w.ws, 0o755))
	w.host = core.New(nil)
	w.load(t, core.Plugin[struct{}]{Name: "doubles", Apply: func(c *core.Context, _ struct{}) error {
		errs := []error{
			core.Workspace.Provide(c, core.Root(w)),
			core.Environment.Provide(c, core.Paths{Home: w.home, Dir: filepath.Dir(w.ws)}),
		}
		if trust {
			errs = append(errs, core.Trust.Provide(c, core.Truster(w)))
		}
		return errors.Join(errs...)
	}})
	f, err := core.Load(w.host.Root(), Plugin, cfg)
	must(t, err)
	must(t, f.Ready(t.Context()))
}

func (w *world) close(t *testing.T) { must(t, w.host.Close(context.WithoutCancel(t.Context()))) }

func (w *world) load(t *testing.T, p core.Plugin[struct{}]) *core.Fiber {
	t.Helper()
	f, err := core.Load(w.host.Root(), p, struct{}{})
	must(t, err)
	must(t, f.Ready(t.Context()))
	return f
}

func (w *world) read(t *testing.T, name string) core.Result {
	t.Helper()
	args, err := json.Marshal(input{Name: name})
	must(t, err)
	return w.host.Root().Tools().Execute(t.Context(), core.Call{Name: "skill", Args: args})
}

func (w *world) description() string {
	for _, tool := range w.host.Root().Tools().List(core.Viewer{}) {
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
	synctest.Test(t, func(t *testing.T) { testRule23(t, w) })
}

func testRule23(t *testing.T, w *world) {
	w.start(t, true, Config{Folders: []string{"more"}})
	defer w.close(t)
	w.load(t, core.Plugin[struct{}]{Name: "bringer", Needs: core.Needs(core.Skills), Apply: func(c *core.Context, _ struct{}) error {
		set, _ := core.Skills.Get(c)
		return errors.Join(
			set.Add(c, core.Skill{Name: "embedded", Description: "d", Text: "from a plugin"}),
			set.Add(c, core.Skill{Name: "mine", Description: "d", Text: "hidden by the home's"}),
		)
	}})
	synctest.Wait()
	for name, want := range map[string]string{
		"shared": "text of the workspace's\n", "mine": "text of mine\n", "named": "text of named\n", "embedded": "from a plugin",
		"": "embedded: d\nmine: mine\nnamed: named\nshared: the workspace's\n",
	} {
		if got := w.read(t, name); got.Err != nil || got.Text() != want {
			t.Errorf("skill(%q) = %q, %v; want %q", name, got.Text(), got.Err, want)
		}
	}
	if got := w.read(t, "shard"); got.Err == nil || !strings.Contains(got.Err.Message, `did you mean "shared"?`) {
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
		w.close(t)
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
		if got := w.read(t, "a"); got.Text() != "text of second\n" {
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
		w.close(t)
	})
}

func TestSkillsOfAPluginGoWithIt(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		w.start(t, false, Config{})
		var second error
		f := w.load(t, core.Plugin[struct{}]{Name: "bringer", Needs: core.Needs(core.Skills), Apply: func(c *core.Context, _ struct{}) error {
			set, _ := core.Skills.Get(c)
			err := set.Add(c, core.Skill{Name: "x", Description: "d", Text: "t"})
			second = set.Add(c, core.Skill{Name: "x", Description: "d", Text: "t"})
			return err
		}})
		synctest.Wait()
		if second == nil || !strings.Contains(second.Error(), "another plugin brings") {
			t.Errorf("a name taken: %v", second)
		}
		if text := w.description(); !strings.HasSuffix(text, "- x: d") {
			t.Errorf("with the plugin: %q", text)
		}
		must(t, f.Dispose(t.Context()))
		synctest.Wait()
		if text := w.description(); text != "" {
			t.Errorf("without the plugin: %q", text)
		}
		w.close(t)
	})
}

func TestAddRefusesWhatIsNoSkill(t *testing.T) {
	s := newSet(nil, nil)
	if err := s.Add(nil, core.Skill{Name: "a b", Description: "d", Text: "t"}); err == nil {
		t.Error("a name with a space")
	}
}

func TestConfigIsDescribed(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[input]()} {
		for _, err := range schema.Lint(typ) {
			t.Error(err)
		}
	}
}

func TestRenderCall(t *testing.T) {
	for args, want := range map[string]string{`{"name": "a"}`: "skill a", `{}`: "skill", `{"name": "\u202e"}`: "skill", `[]`: "skill"} {
		if got := renderCall(json.RawMessage(args)); got != want {
			t.Errorf("%s = %q", args, got)
		}
	}
}
