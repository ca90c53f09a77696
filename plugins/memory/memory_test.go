package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

func newStore(t testing.TB) *store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "state", "agentd.db"))
}

func openStore(t testing.TB, file string) *store {
	t.Helper()
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func message(t testing.TB, m llm.Message) core.SessionEvent {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return core.SessionEvent{Kind: core.EventMessage, Data: data}
}

// fill makes a session with a message for each text, and closes it.
func fill(t testing.TB, s core.SessionStore, id string, texts ...string) {
	t.Helper()
	o, err := s.Create(t.Context(), core.SessionInfo{ID: id, Agent: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if err := o.Append(t.Context(), message(t, llm.UserText(text))); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, s core.SessionStore, id string) []core.SessionEvent {
	t.Helper()
	events, err := s.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestSessionsOutliveTheStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "a", "one\nmore", "two")
	before := read(t, s, "a")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, file)
	if diff := cmp.Diff(before, read(t, s, "a")); diff != "" {
		t.Error(diff)
	}
	infos, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []core.SessionInfo{{ID: "a", Agent: "agent", Title: "one", Events: 2}}
	if diff := cmp.Diff(want, infos, cmpopts.IgnoreFields(core.SessionInfo{}, "Created", "Updated")); diff != "" {
		t.Error(diff)
	}
	o, err := s.Open(t.Context(), "last")
	if err != nil || o.ID() != "a" {
		t.Fatalf("%v %v", o, err)
	}
	if err := o.Append(t.Context(), core.SessionEvent{Kind: "x:y"}, core.SessionEvent{Kind: "x:z", Data: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	events, err := o.Events(t.Context())
	if err != nil || len(events) != 4 || events[3].Seq != 4 || events[2].Kind != "x:y" || events[3].Time.IsZero() {
		t.Errorf("%+v %v", events, err)
	}
}

func TestE27_TheFileIsItsOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "a", "one")
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err := errors.Join(err, s.close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
}

func TestOneWriterASession(t *testing.T) {
	s := newStore(t)
	other := openStore(t, s.db.file) // as another process would
	fill(t, s, "a", "one")
	o, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []*store{s, other} {
		if _, err := from.Open(t.Context(), "a"); !errors.Is(err, core.ErrSessionBusy) || !strings.Contains(err.Error(), ": a") {
			t.Errorf("got %v", err)
		}
		for _, r := range []core.ClearRequest{{Session: "a"}, {All: true}, {All: true, Types: []string{"jobs"}}} {
			if _, err := from.Delete(t.Context(), r); !errors.Is(err, core.ErrSessionBusy) {
				t.Errorf("%+v: got %v", r, err)
			}
		}
		if gone, err := from.Prune(t.Context(), time.Now().Add(time.Hour), false); err != nil || len(gone) != 0 {
			t.Errorf("pruned %v, %v", gone, err)
		}
	}
	if len(read(t, other, "a")) != 1 {
		t.Error("reading needs a lock")
	}
	if err := errors.Join(o.Close(), o.Close()); err != nil {
		t.Fatal(err)
	}
	if err := o.Append(t.Context(), core.SessionEvent{Kind: "x"}); err == nil {
		t.Error("a closed session was written to")
	}
	o, err = other.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(s.locks.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("lock files left: %v, %v", left, err)
	}
}

// TestLocksExcludeUnderContention: whoever has the lock has it alone, while
// lock files come and go.
func TestLocksExcludeUnderContention(t *testing.T) {
	s := newStore(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders, taken := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 200 {
				l, err := s.locks.session(1, "a")
				if errors.Is(err, core.ErrSessionBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				holders++
				taken++
				if holders != 1 {
					t.Errorf("%d holders", holders)
				}
				mu.Unlock()
				mu.Lock()
				holders--
				mu.Unlock()
				if err := l.release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if taken == 0 {
		t.Error("never taken")
	}
}

func TestIDsAreChecked(t *testing.T) {
	s := newStore(t)
	fill(t, s, "a")
	for _, id := range []string{"a", "last", "a b", "../x", "-x", strings.Repeat("x", 200)} {
		if _, err := s.Create(t.Context(), core.SessionInfo{ID: id}); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
	if _, err := s.Open(t.Context(), "b"); !errors.Is(err, core.ErrSessionUnknown) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Read(t.Context(), "' OR 1=1 --"); !errors.Is(err, core.ErrSessionUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestForkAtAnEvent(t *testing.T) {
	s := newStore(t)
	fill(t, s, "a", "one", "two", "three")
	for _, tt := range []struct {
		seq  int64
		want int
	}{{0, 3}, {2, 2}, {3, 3}} {
		f, err := s.Fork(t.Context(), "a", tt.seq)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read(t, s, "a")[:tt.want], read(t, s, f.ID)); diff != "" || f.Parent != "a" || f.Title != "one" || f.Events != int64(tt.want) {
			t.Errorf("%+v: %s", f, diff)
		}
	}
	for _, seq := range []int64{-1, 4} {
		if _, err := s.Fork(t.Context(), "a", seq); err == nil || !strings.Contains(err.Error(), "events 1 to 3") {
			t.Errorf("got %v", err)
		}
	}
}

func TestClearDeletesByKind(t *testing.T) {
	image := llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.ImagePart, Data: []byte("SECRETPIXELS"), MIME: "image/png"}}}
	setup := func(t *testing.T) *store {
		s := newStore(t)
		fill(t, s, "a", "SECRETTEXT")
		fill(t, s, "b", "other")
		o, err := s.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		err = o.Append(t.Context(), message(t, image),
			core.SessionEvent{Kind: core.EventSummary, Data: []byte(`{}`)}, core.SessionEvent{Kind: "agent:job", Data: []byte(`{}`)},
			core.SessionEvent{Kind: "toolsearch:warm", Data: []byte(`{}`)})
		if err := errors.Join(err, o.Close()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tt := range []struct {
		types []string
		want  core.ClearReport
		left  []string
	}{
		{nil, core.ClearReport{"messages": 2, "summaries": 1, "jobs": 1, "toolsearch": 1}, []string{"cleared"}},
		{[]string{"messages"}, core.ClearReport{"messages": 2, "toolsearch": 1}, []string{"summary", "agent:job", "cleared"}},
		{[]string{"images"}, core.ClearReport{"images": 1}, []string{"message", "message", "summary", "agent:job", "toolsearch:warm", "cleared"}},
		{[]string{"summaries", "jobs"}, core.ClearReport{"summaries": 1, "jobs": 1}, []string{"message", "message", "toolsearch:warm", "cleared"}},
		{[]string{"toolsearch"}, core.ClearReport{"toolsearch": 1}, []string{"message", "message", "summary", "agent:job", "cleared"}},
	} {
		t.Run(fmt.Sprint(tt.types), func(t *testing.T) {
			s := setup(t)
			report, err := s.Delete(t.Context(), core.ClearRequest{Session: "a", Types: tt.types})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, report); diff != "" {
				t.Error(diff)
			}
			var kinds []string
			for _, ev := range read(t, s, "a") {
				kinds = append(kinds, ev.Kind)
			}
			if diff := cmp.Diff(tt.left, kinds); diff != "" {
				t.Error(diff)
			}
			infos, err := s.List(t.Context())
			if err != nil || infos[0].ID != "a" || infos[0].Events != int64(len(kinds)) {
				t.Errorf("%+v, %v", infos, err)
			}
			if len(read(t, s, "b")) != 1 {
				t.Error("another session was touched")
			}
			raw, err := os.ReadFile(s.db.file)
			if err != nil {
				t.Fatal(err)
			}
			cleared := core.ClearRequest{Types: tt.types}
			if cleared.Wants("messages") && bytes.Contains(raw, []byte("SECRETTEXT")) {
				t.Error("the text is still in the file")
			}
			// data of parts is base64 in JSON
			if cleared.Wants("images") && bytes.Contains(raw, []byte("U0VDUkVUUElYRUxT")) {
				t.Error("the image is still in the file")
			}
		})
	}
	t.Run("everything", func(t *testing.T) {
		s := setup(t)
		report, err := s.Delete(t.Context(), core.ClearRequest{All: true})
		want := core.ClearReport{"messages": 3, "summaries": 1, "jobs": 1, "toolsearch": 1, "sessions": 2}
		if diff := cmp.Diff(want, report); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		if infos, err := s.List(t.Context()); err != nil || len(infos) != 0 {
			t.Errorf("%v %v", infos, err)
		}
	})
}

func TestClearedNumbersAreNotUsedAgain(t *testing.T) {
	s := newStore(t)
	fill(t, s, "a", "one", "two")
	if _, err := s.Delete(t.Context(), core.ClearRequest{Session: "a"}); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.Append(t.Context(), message(t, llm.UserText("three"))), o.Close()); err != nil {
		t.Fatal(err)
	}
	if events := read(t, s, "a"); len(events) != 2 || events[0].Seq != 3 || events[1].Seq != 4 {
		t.Errorf("%+v", events)
	}
}

func TestExportAndImportGiveTheSameSession(t *testing.T) {
	s, other := newStore(t), newStore(t)
	fill(t, s, "a", "one", "two <html> \u2028")
	if _, err := s.Delete(t.Context(), core.ClearRequest{Session: "a", Types: []string{"jobs"}}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Export(t.Context(), "last", &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, "\n"); n != 4 {
		t.Errorf("%d lines", n)
	}
	for i, into := range []*store{other, other} {
		info, err := into.Import(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if (info.ID == "a") != (i == 0) || info.Title != "one" || info.Agent != "agent" || info.Events != 3 {
			t.Errorf("import %d: %+v", i, info)
		}
		if diff := cmp.Diff(read(t, s, "a"), read(t, into, info.ID)); diff != "" {
			t.Error(diff)
		}
	}
	var again bytes.Buffer
	if err := other.Export(t.Context(), "a", &again); err != nil || again.String() != text {
		t.Errorf("%v\n%s\n%s", err, text, again.String())
	}
}

func TestImportOfBadInputLeavesNothing(t *testing.T) {
	s := newStore(t)
	head := `{"format":"agentd session","version":1,"session":{"id":"x"}}` + "\n"
	for in, want := range map[string]string{
		"":                                  "line 1",
		"{}\n":                              "want the format",
		"[]\n":                              "line 1",
		strings.Replace(head, "1", "2", 1):  "version 2",
		head + "{\n":                        "line 2",
		head + `{"seq":1,"kind":""}` + "\n": "line 2",
		head + `{"seq":1,"kind":"a"}` + "\n" + `{"seq":1,"kind":"a"}`: "line 3",
	} {
		if _, err := s.Import(t.Context(), strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", in, err)
		}
	}
	if infos, err := s.List(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("%v %v", infos, err)
	}
}

// TestImportOfDamagedExports: whatever an export was turned into, it is refused
// or comes out as it went in. (No fuzz target: instrumenting the database
// takes longer than the rest of all fuzzing.)
func TestImportOfDamagedExports(t *testing.T) {
	s := newStore(t)
	whole := `{"format":"agentd session","version":1,"session":{"id":"x","title":"t"}}` + "\n" +
		`{"seq":1,"time":"2026-01-01T00:00:00Z","kind":"message","data":{"role":"user"}}` + "\n" +
		`{"seq":9,"time":"2026-01-01T00:00:00Z","kind":"a:b","data":null}` + "\n"
	rng := rand.New(rand.NewPCG(9, 10))
	taken := 0
	for range 400 {
		in := []byte(whole)
		for range rng.IntN(3) {
			switch at := rng.IntN(len(in)); rng.IntN(3) {
			case 0:
				in[at] = byte(rng.IntN(256))
			case 1:
				in = append(in[:at], in[at+1:]...)
			default:
				in = append(in[:at], append([]byte{"{}[],:\"0n\n"[rng.IntN(10)]}, in[at:]...)...)
			}
		}
		info, err := s.Import(t.Context(), bytes.NewReader(in))
		if err != nil {
			continue
		}
		taken++
		var out bytes.Buffer
		if err := s.Export(t.Context(), info.ID, &out); err != nil {
			t.Fatalf("%v of %q", err, in)
		}
		if _, err := s.Import(t.Context(), &out); err != nil {
			t.Errorf("%v of %q", err, in)
		}
	}
	if taken < 50 {
		t.Errorf("only %d were taken", taken)
	}
}

func TestPruneAndBackup(t *testing.T) {
	s := newStore(t)
	fill(t, s, "old", "x")
	middle := time.Now()
	fill(t, s, "new", "y")
	backup := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), backup); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	names := func(infos []core.SessionInfo, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, i := range infos {
			ids = append(ids, i.ID)
		}
		return strings.Join(ids, " ")
	}
	if got := names(s.Prune(t.Context(), middle, true)); got != "old" {
		t.Errorf("would prune %q", got)
	}
	if got := names(s.List(t.Context())); got != "new old" {
		t.Errorf("a dry run left %q", got)
	}
	if got := names(s.Prune(t.Context(), middle, false)); got != "old" {
		t.Errorf("pruned %q", got)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(s.List(t.Context())); got != "new" {
		t.Errorf("left %q", got)
	}
	if got := names(openStore(t, backup).List(t.Context())); got != "new old" {
		t.Errorf("the backup has %q", got)
	}
}

func TestFilesOfOtherVersionsAndBrokenOnesAreLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.write.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "use a newer agentd") {
		t.Errorf("got %v", err)
	}
	broken := filepath.Join(t.TempDir(), "agentd.db")
	if err := os.WriteFile(broken, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "agentd.db") {
		t.Errorf("got %v", err)
	}
}

func TestMigrationsRunInOrderFromAnyVersion(t *testing.T) {
	saved := migrations
	defer func() { migrations = saved }()
	file := filepath.Join(t.TempDir(), "agentd.db")
	s, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "a", "one")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	migrations = append(slices.Clone(saved), "ALTER TABLE sessions ADD COLUMN colour TEXT", "UPDATE sessions SET colour = 'red'")
	s = openStore(t, file)
	var colour string
	if err := s.db.read.QueryRow("SELECT colour FROM sessions").Scan(&colour); err != nil || colour != "red" {
		t.Errorf("%q %v", colour, err)
	}
	migrations = append(migrations, "ALTER TABLE nonsense")
	if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "migration to version 4") {
		t.Errorf("got %v", err)
	}
	var version int
	if err := s.db.read.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != 3 {
		t.Errorf("version %d, %v", version, err)
	}
}

// TestStoreAgreesWithASimpleModel does random things to the store and to maps.
func TestStoreAgreesWithASimpleModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := newStore(t)
	model := map[string][]core.SessionEvent{}
	open := map[string]core.Session{}
	seqs := map[string]int64{}
	ids := func() []string {
		var list []string
		for id := range model {
			list = append(list, id)
		}
		slices.Sort(list)
		return list
	}
	for step := range 600 {
		known := ids()
		pick := ""
		if len(known) > 0 {
			pick = known[rng.IntN(len(known))]
		}
		switch op := rng.IntN(8); {
		case op == 0 || pick == "":
			id := fmt.Sprint("s", step)
			o, err := s.Create(t.Context(), core.SessionInfo{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			model[id], open[id] = nil, o
		case op == 1 && open[pick] != nil:
			if err := open[pick].Close(); err != nil {
				t.Fatal(err)
			}
			delete(open, pick)
		case op == 2:
			o, err := s.Open(t.Context(), pick)
			if (err == nil) != (open[pick] == nil) {
				t.Fatalf("step %d: open %s: %v", step, pick, err)
			}
			if err == nil {
				open[pick] = o
			}
		case op == 3:
			seq := seqs[pick]
			if seq > 0 {
				seq = 1 + rng.Int64N(seq)
			}
			f, err := s.Fork(t.Context(), pick, seq)
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range model[pick] {
				if ev.Seq <= seq {
					model[f.ID] = append(model[f.ID], ev)
				}
			}
			seqs[f.ID] = seq
		case op == 4 && step%10 == 0:
			_, err := s.Delete(t.Context(), core.ClearRequest{Session: pick, Types: []string{"messages"}})
			if (err == nil) != (open[pick] == nil) {
				t.Fatalf("step %d: clear %s: %v", step, pick, err)
			}
			if err == nil {
				seqs[pick]++
				model[pick] = slices.DeleteFunc(model[pick], func(ev core.SessionEvent) bool { return ev.Kind != core.EventCleared })
				model[pick] = append(model[pick], core.SessionEvent{Seq: seqs[pick], Kind: core.EventCleared})
			}
		case open[pick] != nil:
			var events []core.SessionEvent
			for range 1 + rng.IntN(3) {
				seqs[pick]++
				events = append(events, core.SessionEvent{Seq: seqs[pick], Kind: "x:y", Data: []byte(fmt.Sprint(step))})
			}
			if err := open[pick].Append(t.Context(), events...); err != nil {
				t.Fatal(err)
			}
			model[pick] = append(model[pick], events...)
		}
		if pick == "" {
			continue
		}
		ignore := cmp.Options{cmpopts.IgnoreFields(core.SessionEvent{}, "Time"), cmpopts.EquateEmpty(),
			cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Data" }, cmp.Comparer(func(a, b json.RawMessage) bool {
				return string(a) == string(b) || a == nil || b == nil
			}))}
		if diff := cmp.Diff(model[pick], read(t, s, pick), ignore); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
	}
}

func TestPluginProvidesSessionsAndExpiresOldOnes(t *testing.T) {
	state := t.TempDir()
	s, err := open(t.Context(), filepath.Join(state, "agentd.db"))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "old", "x")
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	host := core.New(nil)
	defer host.Close(context.WithoutCancel(t.Context()))
	if err := core.Environment.Provide(host.Root(), core.Paths{State: state}); err != nil {
		t.Fatal(err)
	}
	f, err := core.Load(host.Root(), Plugin, Config{Expire: time.Nanosecond})
	if err == nil {
		err = f.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var sessions core.SessionStore
	user, err := core.Load(host.Root(), core.Plugin[struct{}]{Name: "user", Needs: core.Needs(core.Sessions),
		Apply: func(c *core.Context, _ struct{}) error { sessions, _ = core.Sessions.Get(c); return nil }}, struct{}{})
	if err == nil {
		err = user.Ready(t.Context())
	}
	if err != nil || sessions == nil || !sessions.Durable() {
		t.Fatalf("%v %v", sessions, err)
	}
	for { // the expiry runs in the background
		infos, err := sessions.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) == 0 {
			break
		}
	}
}

func TestConfigRefusesNegativeTimes(t *testing.T) {
	if err := Plugin.Validate(Config{Expire: -1}); err == nil {
		t.Error("accepted")
	}
}
