package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
)

// log builds a session's events.
type log struct {
	t      testing.TB
	events []core.SessionEvent
}

func (l *log) add(kind string, data any) *log {
	l.t.Helper()
	ev, err := event(kind, data)
	if err != nil {
		l.t.Fatal(err)
	}
	ev.Seq = int64(len(l.events) + 1)
	l.events = append(l.events, ev)
	return l
}

func (l *log) user(s string) *log { return l.add(core.EventMessage, llm.UserText(s)) }

func (l *log) assistant(text string, ids ...string) *log {
	m := llm.Message{Role: llm.Assistant}
	if text != "" {
		m.Parts = append(m.Parts, llm.Text(text))
	}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.ToolCallPart, Call: &llm.ToolCall{ID: id, Name: "f", Args: "{}"}})
	}
	return l.add(core.EventMessage, m)
}

func (l *log) result(id, text string) *log {
	return l.add(core.EventMessage, llm.Message{Role: llm.ToolRole, Parts: []llm.Part{
		resultPart(llm.ToolCall{ID: id, Name: "f"}, []llm.Part{llm.Text(text)}, false)}})
}

// lines folds the log and shows it, a line a message.
func (l *log) lines() []string {
	l.t.Helper()
	h, err := fold(l.events)
	if err != nil {
		l.t.Fatal(err)
	}
	return show(h.messages())
}

func show(ms []llm.Message) []string {
	var lines []string
	for _, m := range ms {
		var words []string
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				words = append(words, "call "+p.Call.ID)
			case p.Result != nil:
				words = append(words, p.Result.CallID+"="+llm.PartsText(p.Result.Parts))
			default:
				words = append(words, p.Text)
			}
		}
		lines = append(lines, string(m.Role)+": "+strings.Join(words, ", "))
	}
	return lines
}

func TestFoldPutsResultsInTheOrderOfTheCalls(t *testing.T) {
	l := (&log{t: t}).user("go").assistant("", "a", "b").result("b", "2").result("a", "1").result("zz", "nobody's").assistant("ok")
	want := []string{"user: go", "assistant: call a, call b", "tool: a=1, b=2", "assistant: ok"}
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestH24_FoldAnswersCallsThatWereCutOff(t *testing.T) {
	l := (&log{t: t}).user("go").assistant("", "a", "b").result("b", "2").user("go on")
	want := []string{"user: go", "assistant: call a, call b", "tool: a=" + interruptedText + ", b=2", "user: go on"}
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestFoldKeepsCallsOfTwoAnswersApart(t *testing.T) {
	l := (&log{t: t}).user("go").assistant("", "a").result("a", "1").assistant("", "a").result("a", "2")
	want := []string{"user: go", "assistant: call a", "tool: a=1", "assistant: call a", "tool: a=2"}
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestFoldPutsASummaryInPlaceOfWhatItStandsFor(t *testing.T) {
	l := (&log{t: t}).user("one").assistant("", "a").result("a", "1").assistant("two").user("three")
	l.add(core.EventSummary, core.Summary{Text: "they counted", Through: 4})
	want := []string{"user: Summary of the conversation so far:\n\nthey counted", "user: three"}
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestFoldShortensOldResultsAlone(t *testing.T) {
	long := strings.Repeat("é", 50)
	l := (&log{t: t}).user("go").assistant("", "a").result("a", long).assistant("", "b").result("b", long)
	l.add(eventShort, shortRecord{Through: 3, Limit: 11}).add(eventShort, shortRecord{Through: 3, Limit: 9})
	lines := l.lines()
	if want := "tool: a=ééééé\n[shortened; the whole result had 100 bytes]"; lines[2] != want {
		t.Errorf("got %q", lines[2])
	}
	if lines[4] != "tool: b="+long {
		t.Errorf("got %q", lines[4])
	}
}

func TestFoldPassesForeignEventsOverAndRefusesBrokenOnes(t *testing.T) {
	l := (&log{t: t}).user("go").add("toolsearch:warm", "anything")
	if diff := cmp.Diff([]string{"user: go"}, l.lines()); diff != "" {
		t.Error(diff)
	}
	_, err := fold([]core.SessionEvent{{Seq: 7, Kind: core.EventMessage, Data: json.RawMessage(`[]`)}})
	if err == nil || !strings.Contains(err.Error(), "event 7 (message)") {
		t.Errorf("got %v", err)
	}
}

// TestFoldOfAnyPrefixIsAConversation: wherever a log was cut off, and whatever
// order results came in, each call has exactly one result, right behind it.
func TestFoldOfAnyPrefixIsAConversation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		l := &log{t: t}
		for turn := range 1 + rng.IntN(4) {
			l.user("u")
			for step := range rng.IntN(4) {
				var ids []string
				for i := range rng.IntN(4) {
					ids = append(ids, fmt.Sprint(turn, step, i))
				}
				l.assistant("t", ids...)
				for _, i := range rng.Perm(len(ids)) {
					if rng.IntN(5) > 0 {
						l.result(ids[i], "r")
					}
				}
			}
		}
		if rng.IntN(2) == 0 {
			l.add(core.EventSummary, core.Summary{Text: "s", Through: int64(rng.IntN(len(l.events) + 1))})
		}
		for n := range l.events {
			h, err := fold(l.events[:n+1])
			if err != nil {
				t.Fatal(err)
			}
			checkConversation(t, h.messages())
		}
	}
}

func checkConversation(t *testing.T, ms []llm.Message) {
	t.Helper()
	for i, m := range ms {
		var want []string
		for _, c := range m.Calls() {
			want = append(want, c.ID)
		}
		if m.Role == llm.ToolRole && (i == 0 || len(ms[i-1].Calls()) == 0) {
			t.Fatalf("results without calls: %q", show(ms))
		}
		if len(want) == 0 {
			continue
		}
		if i+1 == len(ms) || ms[i+1].Role != llm.ToolRole {
			t.Fatalf("calls without results: %q", show(ms))
		}
		var got []string
		for _, p := range ms[i+1].Parts {
			got = append(got, p.Result.CallID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// long makes a reply that calls a tool with a long result.
func compactRig(t *testing.T, window int, script ...coretest.Reply) *rig {
	r := newRig(t, Config{Compact: Compact{Window: window, Result: 40}}, script...)
	r.tool("long", core.Traits{}, echoLong)
	return r
}

func TestOldResultsAreShortenedFirst(t *testing.T) {
	r := compactRig(t, 2000, coretest.Calls("long", `{"n":1}`), coretest.Calls("long", `{"n":2}`),
		coretest.Calls("long", `{"n":3}`), coretest.Says("done"))
	res := r.say("", "go")
	if res.Stop != core.StopDone {
		t.Fatalf("got %+v", res)
	}
	got := r.results()
	if first, last := llm.PartsText(got[0].Parts), llm.PartsText(got[2].Parts); len(first) > 200 || len(last) < 2000 {
		t.Errorf("the first result has %d bytes, the last %d", len(first), len(last))
	}
	if ev := r.seen(core.AgentCompacted); len(ev) == 0 || !strings.Contains(ev[0].Text, "shortened") {
		t.Errorf("events %+v", ev)
	}
}

func TestASummaryReplacesWhatIsOldAndStaysInTheSession(t *testing.T) {
	words := strings.Repeat("words ", 300)
	r := compactRig(t, 1000, coretest.Says(words), coretest.Reply{Then: func(req *llm.Request) coretest.Reply {
		if req.Choice.Mode != "none" || !strings.Contains(req.Messages[0].Text(), "user: tell me") {
			t.Errorf("request for a summary: %+v", req)
		}
		return coretest.Says("they talked of words")
	}}, coretest.Says("new answer"), coretest.Says("third"))
	session := r.say("", "tell me "+words).Session
	r.say(session, "and now?")
	want := []string{"user: Summary of the conversation so far:\n\nthey talked of words", "user: and now?"}
	if diff := cmp.Diff(want, show(r.model.Requests()[2].Messages)); diff != "" {
		t.Error(diff)
	}
	r.say(session, "third?")
	if got := show(r.model.Requests()[3].Messages); len(got) != 4 || got[0] != want[0] {
		t.Errorf("got %q", got)
	}
}

func TestASummaryThatFailsDoesNotEndTheTurn(t *testing.T) {
	words := strings.Repeat("words ", 300)
	r := compactRig(t, 1000, coretest.Says(words), coretest.Fails(llm.ErrOverloaded, "busy"), coretest.Says("ok"))
	session := r.say("", words).Session
	if res := r.say(session, "more"); res.Text != "ok" || len(r.seen(core.AgentWarning)) != 1 {
		t.Errorf("got %+v", res)
	}
}

func TestASummaryIsNotRetriedInSilence(t *testing.T) {
	words := strings.Repeat("words ", 300)
	r := compactRig(t, 1000, coretest.Says(words), coretest.Reply{Events: []llm.Event{
		{Kind: llm.Warning, Text: "waiting 30s"}, {Kind: llm.TextDelta, Text: "half"}, {Kind: llm.Reset, Text: "busy; trying again in 1s"},
		{Kind: llm.TextDelta, Text: "a summary"}, {Kind: llm.Finish, Reason: llm.Stop},
	}}, coretest.Says("ok"))
	session := r.say("", words).Session
	r.say(session, "more")
	var got []string
	for _, ev := range r.seen(core.AgentWarning, core.AgentReset) {
		got = append(got, string(ev.Kind)+": "+ev.Text)
	}
	if diff := cmp.Diff([]string{"warning: waiting 30s", "warning: busy; trying again in 1s"}, got); diff != "" {
		t.Error(diff)
	}
	if text := r.model.Requests()[2].Messages[0].Text(); !strings.HasSuffix(text, "\n\na summary") {
		t.Errorf("got %q", text)
	}
}

func TestAProviderThatFindsItTooLongGetsLess(t *testing.T) {
	words := strings.Repeat("words ", 100)
	r := compactRig(t, 1000, coretest.Says(words), coretest.Fails(llm.ErrTooLarge, "too long"), coretest.Says("short"), coretest.Says("ok"))
	session := r.say("", words).Session
	res := r.say(session, "more")
	if res.Text != "ok" || r.model.Left() != 0 {
		t.Errorf("got %+v, %d replies left", res, r.model.Left())
	}
}

func TestCutMiddleKeepsBothEnds(t *testing.T) {
	got := cutMiddle("begin"+strings.Repeat("é", 1000)+"end", 100)
	if !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") || len(got) > 120 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("got %q", got)
	}
}

// FuzzFold: whatever is in a log, it is refused or gives a conversation that a
// model can go on with.
func FuzzFold(f *testing.F) {
	l := (&log{t: f}).user("go").assistant("t", "a", "b").result("b", "2")
	l.add(core.EventSummary, core.Summary{Text: "s", Through: 1}).add(eventShort, shortRecord{3, 1})
	for _, ev := range l.events {
		f.Add(ev.Kind, []byte(ev.Data), "message", []byte(`{"role":"tool","parts":[{"result":{"callId":"a"}}]}`))
	}
	f.Fuzz(func(t *testing.T, kind1 string, data1 []byte, kind2 string, data2 []byte) {
		h, err := fold([]core.SessionEvent{{Seq: 1, Kind: kind1, Data: data1}, {Seq: 2, Kind: kind2, Data: data2}})
		if err != nil {
			return
		}
		for i, m := range h.messages() {
			if m.Role == llm.ToolRole && (i == 0 || len(h.messages()[i-1].Calls()) == 0) {
				t.Errorf("results without calls in %q", show(h.messages()))
			}
		}
	})
}
