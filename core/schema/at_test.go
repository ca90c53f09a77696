package schema_test

import (
	"errors"
	"testing"

	"github.com/agentd-host/agentd/core/schema"
)

func TestAtSaysWhereAnErrorIsAbout(t *testing.T) {
	inner := errors.Join(errors.New("no luck"), schema.At(errors.New("no url"), "url"))
	err := schema.At(errors.Join(inner, schema.Issues{{Path: "[1]", Pointer: "/1", Message: "odd"}}), "servers", "a.b/c")
	want := []schema.Issue{
		{Path: `servers."a.b/c"`, Pointer: "/servers/a.b~1c", Message: "no luck"},
		{Path: `servers."a.b/c".url`, Pointer: "/servers/a.b~1c/url", Message: "no url"},
		{Path: `servers."a.b/c"[1]`, Pointer: "/servers/a.b~1c/1", Message: "odd"},
	}
	got := schema.IssuesOf(err)
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i].Path != want[i].Path || got[i].Pointer != want[i].Pointer || got[i].Message != want[i].Message {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	if schema.At(nil, "a") != nil {
		t.Error("nothing is wrong at a")
	}
}
