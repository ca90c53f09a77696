package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core/llm"
)

func TestRepairMendsCommonDamageAndSaysSo(t *testing.T) {
	for _, tt := range []struct {
		in, out string
		notes   []string
	}{
		{`{"a":1}`, `{"a":1}`, nil},
		{``, ``, nil},
		{`null`, `null`, nil},
		{`{"a":1,}`, `{"a":1}`, []string{"a trailing comma"}},
		{`{"a":[1,2,],}`, `{"a":[1,2]}`, []string{"a trailing comma"}},
		{`{'a':'it"s'}`, `{"a":"it\"s"}`, []string{"single quotes"}},
		{`{'a':'it\'s'}`, `{"a":"it's"}`, []string{"single quotes"}},
		{`{"a":True,"b":None}`, `{"a":true,"b":null}`, []string{"literals of another language"}},
		{`{a: 1, b_2: "x"}`, `{"a": 1, "b_2": "x"}`, []string{"unquoted keys"}},
		{"{\"a\":\"x\ny\"}", `{"a":"x\ny"}`, []string{"raw control characters in a string"}},
		{`{"a":"C:\dir"}`, `{"a":"C:\\dir"}`, []string{"an unknown escape"}},
		{"```json\n{\"a\":1}\n```", `{"a":1}`, []string{"text around the object"}},
		{`{"a":{"b":[1`, `{"a":{"b":[1]}}`, []string{"missing closing brackets"}},
		{`{"a":1}}`, `{"a":1}`, []string{"extra closing brackets"}},
	} {
		got, notes := repair(tt.in)
		if string(got) != tt.out || !slices.Equal(notes, tt.notes) {
			t.Errorf("repair(%s) = %s %q, want %s %q", tt.in, got, notes, tt.out, tt.notes)
		}
	}
}

func TestRepairInventsNothing(t *testing.T) {
	for _, in := range []string{
		`{"command":"rm -rf /tmp/x`, `{"a":`, `{"a"`, `{"a" 1}`, `{"a":1}{"b":2}`, `{"a":tru}`, `{"a":1]`, `rm -rf`,
		`{"a":"b\`, `{"a": b}`, `{"a":1} and then`,
	} {
		if got, notes := repair(in); string(got) != in || notes != nil {
			t.Errorf("repair(%s) = %s %q, want it untouched", in, got, notes)
		}
	}
}

// FuzzRepair: what was valid stays byte for byte; what is said to be repaired
// is valid; what is not said to be repaired is untouched.
func FuzzRepair(f *testing.F) {
	for _, s := range []string{`{"a":1,}`, `{'a':True}`, "```json\n{}\n```", `{"a":[`, `{a:1}`, `{"a":"\`, "{\"\x80\":1,}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, notes := repair(s)
		if len(notes) == 0 && string(got) != s {
			t.Errorf("changed %q to %q and said nothing", s, got)
		}
		if len(notes) > 0 && (!json.Valid(got) || json.Valid([]byte(s))) {
			t.Errorf("repaired %q to %q", s, got)
		}
	})
}

func TestRepeatsCountsSinceTheLastNewCall(t *testing.T) {
	call := func(name, args string) []llm.ToolCall { return []llm.ToolCall{{Name: name, Args: args}} }
	r := newRepeats(3)
	for i, step := range []struct {
		calls   []llm.ToolCall
		reached bool
	}{
		{call("test", `{}`), false},
		{call("test", `{}`), false},
		{call("edit", `{"n":1}`), false}, // new: the count begins again
		{call("test", `{}`), false},
		{call("edit", `{"n":2}`), false},
		{call("test", `{}`), false},
		{call("edit", `{ "n" : 2 }`), false}, // the same in other words
		{call("test", ` { } `), false},
		{call("edit", `{"n":2}`), true},
	} {
		if tool, reached := r.add(step.calls); reached != step.reached {
			t.Errorf("step %d: reached %v (%s)", i, reached, tool)
		}
	}
}

func TestRepeatsWithoutALimitNeverEnds(t *testing.T) {
	r := newRepeats(0)
	for range 100 {
		if _, reached := r.add([]llm.ToolCall{{Name: "x"}}); reached {
			t.Fatal("reached")
		}
	}
}

// TestRepeatsEndsEveryCycle: whatever cycle of calls a model falls into, the
// turn ends within limit rounds of it.
func TestRepeatsEndsEveryCycle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		limit, length := 2+rng.IntN(5), 1+rng.IntN(6)
		r, reached := newRepeats(limit), false
		for i := 0; i < length*limit && !reached; i++ {
			_, reached = r.add([]llm.ToolCall{{Name: fmt.Sprint("t", i%length)}})
		}
		if !reached {
			t.Errorf("a cycle of %d calls went on for %d rounds", length, limit)
		}
	}
}

func TestCanonicalKeepsLargeNumbers(t *testing.T) {
	got := canonical(`{"b":12345678901234567890, "a":[1.50]}`)
	if diff := cmp.Diff(`{"a":[1.50],"b":12345678901234567890}`, got); diff != "" {
		t.Error(diff)
	}
}
