package memory

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

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
