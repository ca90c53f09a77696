package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
)

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
	head := `{"format":"agentd session","version":1,"session":{"id":"x","events":2}}` + "\n"
	said := `{"seq":1,"kind":"message","data":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}` + "\n"
	second := func(kind, data string) string {
		return head + said + `{"seq":2,"kind":"` + kind + `","data":` + data + "}\n"
	}
	for in, want := range map[string]string{
		"":                                  "line 1",
		"{}\n":                              "want the format",
		"[]\n":                              "line 1",
		strings.Replace(head, "1", "2", 1):  "version 2",
		head + "{\n":                        "line 2",
		head + `{"seq":1,"kind":""}` + "\n": "line 2",
		head + `{"seq":1,"kind":"a"}` + "\n" + `{"seq":1,"kind":"a"}`: "line 3",
		head:        "the export was cut off or was changed: want 2 events, got 0",
		head + said: "cut off or was changed: want 2 events, got 1",
		second("a", "1") + `{"seq":3,"kind":"a"}`:                                "cut off or was changed: want 2 events, got 3",
		second("message", `"x"`):                                                 "line 3: message: ",
		second("message", `null`):                                                `line 3: message: want the role user, assistant or tool, got ""`,
		second("message", `{"role":"user","parts":{}}`):                          "line 3: message: ",
		second("message", `{"role":"assistant","parts":[{"kind":"tool_call"}]}`): "line 3: message: a part tool_call without its content",
		second("message", `{"role":"tool","parts":[{"kind":"tool_result"}]}`):    "line 3: message: a part tool_result without its content",
		second("summary", `{"through":"x"}`):                                     "line 3: summary: ",
		head + said + `{"seq":2,"kind":"summary"}` + "\n":                        "line 3: summary: ",
	} {
		if _, err := s.Import(t.Context(), strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", in, err)
		}
	}
	if infos, err := s.List(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("%v %v", infos, err)
	}
}

func TestImportGivesNoSessionANameThatMeansAnother(t *testing.T) {
	s := newStore(t)
	info, err := s.Import(t.Context(), strings.NewReader(`{"format":"agentd session","version":1,"session":{"id":"last"}}`))
	if err != nil || info.ID == "last" {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestExportOfASessionThatGrowsIsWhole(t *testing.T) {
	s := newStore(t)
	fill(t, s, "a", "one")
	o, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for range 200 {
			err = errors.Join(err, o.Append(context.WithoutCancel(t.Context()), core.SessionEvent{Kind: "a:b"}))
		}
		done <- errors.Join(err, o.Close())
	}()
	for {
		var out bytes.Buffer
		if err := s.Export(t.Context(), "a", &out); err != nil {
			t.Error(err)
		}
		var h header
		first, rest, _ := strings.Cut(out.String(), "\n")
		if err := json.Unmarshal([]byte(first), &h); err != nil || h.Session.Events != int64(strings.Count(rest, "\n")) {
			t.Errorf("%d events are said to be %d, %v", strings.Count(rest, "\n"), h.Session.Events, err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

// TestImportOfDamagedExports: whatever an export was turned into, it is refused
// or comes out as it went in. (No fuzz target: instrumenting the database
// takes longer than the rest of all fuzzing.)
func TestImportOfDamagedExports(t *testing.T) {
	s := newStore(t)
	whole := `{"format":"agentd session","version":1,"session":{"id":"x","title":"t","events":2}}` + "\n" +
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
