package toolsearch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
)

// place is a home, a workspace and a person who trusts some files.
type place struct {
	home, work string
	trusts     atomic.Bool
}

func (p *place) Path() string                { return p.work }
func (p *place) Trusted(string, []byte) bool { return p.trusts.Load() }

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{home: filepath.Join(t.TempDir(), ".agentd"), work: t.TempDir()}
	p.trusts.Store(true)
	return p
}

func (p *place) options() []coretest.Option {
	return []coretest.Option{
		coretest.Provide(core.Environment, core.Paths{Home: p.home}),
		coretest.Provide[core.Root](core.Workspace, p),
		coretest.Provide[core.Truster](core.Trust, p),
	}
}

func (p *place) user() string    { return filepath.Join(p.home, runtimeName) }
func (p *place) project() string { return filepath.Join(p.work, ".agentd", runtimeName) }

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func inPlace(t testing.TB, p *place, cfg string) *rig {
	t.Helper()
	return start(t, parse(t, cfg), append(p.options(), toolset(many(40)...))...)
}

// direct lists what is shown besides the bridge tools.
func (r *rig) direct() []string { return without(r.shows(), "tool_") }

func TestRule22_Scopes(t *testing.T) {
	p := newPlace(t)
	put(t, p.user(), `{"version":1,"core":["create_invoice_00"],"groups":[{"name":"ofuser","prefixes":["list_"]}]}`)
	put(t, p.project(), `{"core":["delete_invoice_01"],"groups":[{"name":"ofproject","prefixes":["list_"]}]}`)
	for scope, want := range map[string]struct {
		direct []string
		group  string
	}{
		"user":    {[]string{"create_invoice_00"}, "ofuser"},
		"project": {[]string{"delete_invoice_01"}, "ofproject"},
		"auto":    {[]string{"create_invoice_00", "delete_invoice_01"}, "ofproject"},
		"none":    {[]string{}, "ofagent"},
	} {
		r := inPlace(t, p, `{"groups":[{"name":"ofagent","prefixes":["list_"]}],"configScope":"`+scope+`"}`)
		if diff := cmp.Diff(want.direct, r.direct()); diff != "" {
			t.Errorf("%s: -want +got\n%s", scope, diff)
		}
		if text := listingOf(r.step()); !strings.Contains(text, "## "+want.group+"\n") {
			t.Errorf("%s: no group %s in\n%s", scope, want.group, text)
		}
	}
}

// TestT32_EditsWithinOneTick: content counts, not the time of the file; a
// broken project file keeps the last good one.
func TestT32_EditsWithinOneTick(t *testing.T) {
	p := newPlace(t)
	put(t, p.user(), `{"core":["create_invoice_00"]}`)
	put(t, p.project(), `{"core":["delete_invoice_01"]}`)
	r := inPlace(t, p, `{}`)
	r.step()
	info, err := os.Stat(p.project())
	if err != nil {
		t.Fatal(err)
	}
	put(t, p.project(), `{"core":["update_ticket_07"]}`)
	if err := os.Chtimes(p.project(), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create_invoice_00", "update_ticket_07"}, r.direct()); diff != "" {
		t.Errorf("second edit: -want +got\n%s", diff)
	}
	for _, broken := range []string{`{`, `{"core":"todo_write"}`, `[]`, ``, `{"groups":[{}]}`} {
		put(t, p.project(), broken)
		if diff := cmp.Diff([]string{"create_invoice_00", "update_ticket_07"}, r.direct()); diff != "" {
			t.Errorf("%q: -want +got\n%s", broken, diff)
		}
	}
	put(t, p.project(), `{"core":["list_order_26"],"future":true}`)
	if diff := cmp.Diff([]string{"create_invoice_00", "list_order_26"}, r.direct()); diff != "" {
		t.Errorf("unknown key: -want +got\n%s", diff)
	}
	if err := os.Remove(p.project()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create_invoice_00"}, r.direct()); diff != "" {
		t.Errorf("removed: -want +got\n%s", diff)
	}
}

// TestE14_UntrustedProjectFile is not read, and a link out of the folder is
// not followed.
func TestE14_UntrustedProjectFile(t *testing.T) {
	p := newPlace(t)
	p.trusts.Store(false)
	put(t, p.project(), `{"core":["create_invoice_00"],"matcher":{"endpoint":"http://127.0.0.1:1/"}}`)
	r := inPlace(t, p, `{}`)
	if got := r.direct(); len(got) > 0 {
		t.Errorf("untrusted: %v", got)
	}
	p.trusts.Store(true)
	if got := r.direct(); !slices.Equal(got, []string{"create_invoice_00"}) {
		t.Errorf("trusted: %v", got)
	}
	elsewhere := filepath.Join(t.TempDir(), "x.json")
	put(t, elsewhere, `{"core":["delete_invoice_01"]}`)
	if err := os.Remove(p.project()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, p.project()); err != nil {
		t.Skip("no links here")
	}
	if got := r.direct(); slices.Contains(got, "delete_invoice_01") {
		t.Errorf("a link out of the folder was followed: %v", got)
	}
}

func TestRule22_DSHFiles(t *testing.T) {
	p := newPlace(t)
	put(t, filepath.Join(filepath.Dir(p.home), ".dsh", runtimeNameDSH), `{"core":["create_invoice_00"]}`)
	put(t, filepath.Join(p.work, ".dsh", runtimeNameDSH), `{"core":["delete_invoice_01"]}`)
	r := inPlace(t, p, `{"preset":"dsh"}`)
	got := r.direct()
	if !slices.Contains(got, "create_invoice_00") || !slices.Contains(got, "delete_invoice_01") {
		t.Errorf("got %v", got)
	}
	put(t, p.user(), `{"core":["list_order_26"]}`)
	if got := r.direct(); slices.Contains(got, "create_invoice_00") || !slices.Contains(got, "list_order_26") {
		t.Errorf("with a file of ours: %v", got)
	}
	plain := inPlace(t, p, `{}`)
	if got := plain.direct(); slices.Contains(got, "delete_invoice_01") {
		t.Errorf("without the preset: %v", got)
	}
}

// configure runs the configuration tool as a person who allows it.
func (r *rig) configure(args string) core.Result {
	r.t.Helper()
	return r.Host.Root().Tools().Execute(r.ctx(), core.Call{
		Name: configureName, Args: json.RawMessage(args), Viewer: r.Viewer, Via: core.ViaModel, Turn: fmt.Sprint("turn", r.turn),
	})
}

func TestRule21_Configure(t *testing.T) {
	p := newPlace(t)
	p.trusts.Store(false)
	put(t, p.user(), `{"core":["create_invoice_00"],"matcher":{"endpoint":"http://127.0.0.1:1/","apiKey":"canary-key"},"mine":1}`)
	allow := policy(coretest.NewApprover(), nil)
	r := start(t, Config{}, append(p.options(), allow, toolset(many(40)...))...)
	r.step()
	res := r.configure(`{"scope":"project","groups":[{"name":"bills","prefixes":["create_invoice"]}],"preload":{"enabled":true}}`)
	a := decode[configured](t, res)
	if !a.OK || a.File != p.project() || !slices.Equal(a.Changed, []string{"groups", "preload"}) || strings.Contains(res.Text(), "canary") {
		t.Errorf("got %s", res.Text())
	}
	data, err := os.ReadFile(p.project())
	if err != nil || strings.Contains(string(data), "canary") || strings.Contains(string(data), "core") {
		t.Errorf("wrote %s, %v", data, err)
	}
	if info, _ := os.Stat(p.project()); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if text := listingOf(r.step()); !strings.Contains(text, "## bills") {
		t.Errorf("what was just written does not count:\n%s", text)
	}
	if res := r.configure(`{"core":["list_order_26"]}`); res.Err != nil {
		t.Fatal(res.Err)
	}
	data, _ = os.ReadFile(p.user())
	if !strings.Contains(string(data), "canary-key") || !strings.Contains(string(data), `"mine": 1`) || strings.Contains(string(data), "create_invoice") {
		t.Errorf("the user's file is now %s", data)
	}
	if res := r.configure(`{"matcher":null}`); res.Err != nil {
		t.Fatal(res.Err)
	}
	if data, _ = os.ReadFile(p.user()); strings.Contains(string(data), "matcher") {
		t.Errorf("not removed: %s", data)
	}
	for _, bad := range []string{`{}`, `{"scope":"user"}`, `{"groups":[{}]}`, `{"scope":"world","core":[]}`, `{"core":"x"}`, `{"other":1}`, `{"matcher":{"model":"x"}}`} {
		if res := r.configure(bad); res.Err == nil {
			t.Errorf("%s was taken: %s", bad, res.Text())
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(p.user())); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestT27_ConfigureKeepsWarmSets of other sessions.
func TestT27_ConfigureKeepsWarmSets(t *testing.T) {
	p := newPlace(t)
	r := start(t, Config{}, append(p.options(), policy(coretest.NewApprover(), nil), toolset(many(40)...))...)
	r.step()
	r.search("delete contact")
	want := r.warm()
	a, log, history := r.Viewer, r.log, r.history
	r.Viewer.Session, r.log, r.history = "s2", &memoryLog{id: "s2"}, nil
	r.step()
	if res := r.configure(`{"groups":[{"name":"g","prefixes":["list_"]}]}`); res.Err != nil {
		t.Fatal(res.Err)
	}
	r.Viewer, r.log, r.history = a, log, history
	if diff := cmp.Diff(want, r.warm()); diff != "" {
		t.Error(diff)
	}
}

// TestRule21_WritingIsAPolicysBusiness: without one nothing is written.
func TestRule21_WritingIsAPolicysBusiness(t *testing.T) {
	p := newPlace(t)
	r := inPlace(t, p, `{}`)
	if res := r.configure(`{"core":["x"]}`); res.Err == nil || res.Err.Code != core.CodeDenied {
		t.Errorf("got %v", res.Err)
	}
	if _, err := os.Stat(p.user()); err == nil {
		t.Error("written")
	}
}

func TestRule21_Catalogue(t *testing.T) {
	r := start(t, Config{}, toolset(many(40)...))
	r.step()
	a := decode[catalogAnswer](t, r.call(catalogName, `{}`))
	if a.Total != 42 || len(a.Tools) != 42 || a.Tools[0].Description == "" || a.Matcher {
		t.Errorf("got %+v", a)
	}
	res := r.Host.Root().Tools().Execute(r.ctx(), core.Call{Name: catalogName, Viewer: r.Viewer, MaxResult: 700})
	if !json.Valid([]byte(res.Text())) || len(res.Text()) > 700 {
		t.Errorf("%d bytes: %s", len(res.Text()), res.Text())
	}
}

// skillShelf collects skills.
type skillShelf struct{ added []core.Skill }

func (s *skillShelf) Add(c *core.Context, skill core.Skill) error {
	s.added = append(s.added, skill)
	return nil
}

func TestRule21_Skill(t *testing.T) {
	shelf := &skillShelf{}
	r := start(t, Config{}, coretest.Provide[core.SkillSet](core.Skills, shelf), toolset(many(3)...))
	if err := r.Host.Root().Fiber().Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := core.Update(t.Context(), r.Fiber, parse(t, `{"preset":"dsh"}`)); err != nil {
		t.Fatal(err)
	}
	last := shelf.added[len(shelf.added)-1]
	if last.Name != "tool-slimmer-setup" || !strings.Contains(last.Text, "`"+catalogNameDSH+"`") || strings.Contains(last.Text, "{") {
		t.Errorf("got %+v", last)
	}
}

func FuzzRuntimeFile(f *testing.F) {
	f.Add([]byte(`{"version":1,"groups":[{"name":"a","tools":["b"]}],"x":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, _, err := parseRuntime(data)
		if (file == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", data, file, err)
		}
	})
}
