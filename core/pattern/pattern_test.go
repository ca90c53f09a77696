package pattern_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/pattern"
	"github.com/google/go-cmp/cmp"
)

func ExampleParse() {
	p, err := pattern.Parse("write_file(path=docs/**)")
	fmt.Println(p.Name, p.Args, err)
	_, err = pattern.Parse("effect:wirte")
	fmt.Println(err)
	// Output:
	// write_file [{path docs/**}] <nil>
	// want effect:read, effect:write or effect:exec, got "wirte"; did you mean "write"?
}

func TestParse(t *testing.T) {
	arg := func(key, glob string) []pattern.Arg { return []pattern.Arg{{Key: key, Glob: glob}} }
	tests := map[string]pattern.Pattern{
		"read_file":               {Kind: pattern.Name, Name: "read_file"},
		"tool:read_file":          {Kind: pattern.Name, Name: "read_file"},
		"mcp__*__get?":            {Kind: pattern.Glob, Name: "mcp__*__get?"},
		"effect:write":            {Kind: pattern.Effect, Name: "write"},
		"server:git.hub":          {Kind: pattern.Server, Name: "git.hub"},
		"group:web":               {Kind: pattern.Group, Name: "web"},
		"path:outside":            {Kind: pattern.Name, Name: "path:outside"},
		"path:*":                  {Kind: pattern.Glob, Name: "path:*"},
		"run_command(git *)":      {Kind: pattern.Name, Name: "run_command", Args: arg("", "git *")},
		"x(echo (a), b)":          {Kind: pattern.Name, Name: "x", Args: arg("", "echo (a), b")},
		"effect:read(path=a/**)":  {Kind: pattern.Effect, Name: "read", Args: arg("path", "a/**")},
		`x(a=1\,2, b=)`:           {Kind: pattern.Name, Name: "x", Args: []pattern.Arg{{Key: "a", Glob: `1\,2`}, {Key: "b"}}},
		`x(FOO\=1 make)`:          {Kind: pattern.Name, Name: "x", Args: arg("", `FOO\=1 make`)},
		"path:outside(/etc/**)":   {Kind: pattern.Name, Name: "path:outside", Args: arg("", "/etc/**")},
		"x(url=https://a/?q=(b))": {Kind: pattern.Name, Name: "x", Args: arg("url", "https://a/?q=(b)")},
	}
	for text, want := range tests {
		want.Text = text
		got, err := pattern.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestRule01_AMalformedPatternSaysWhatToWrite(t *testing.T) {
	tests := map[string]string{
		"":                        "want a tool's name",
		"(git *)":                 "want a tool's name",
		"effect:delete":           "want effect:read",
		"efect:read":              `did you mean "effect"?`,
		"server:*":                "without spaces and wild cards",
		"group:":                  "one name after group:",
		"read file":               "names of tools are",
		"weird:a b":               "or a permission",
		"x(":                      "never closed",
		"x(a)b":                   "never closed",
		"x( )":                    "nothing between",
		"x(a=1,b)":                "is not key=glob",
		"x(\x1b)":                 "does not print",
		"x(\xff)":                 "does not print",
		strings.Repeat("a", 1025): "longer than",
	}
	for text, want := range tests {
		if _, err := pattern.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("write_file(path=docs/**, n=1)")
	f.Add(`x(a\,b=c\)d)`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := pattern.Parse(text)
		if err != nil {
			return
		}
		if p.Kind == 0 || p.Name == "" || p.Text != text {
			t.Fatalf("%q read as %+v", text, p)
		}
		again, err := pattern.Parse("x(k=" + pattern.Escape(p.Name) + ")")
		if err != nil || len(again.Args) != 1 {
			t.Fatalf("%q escaped reads as %+v, %v", p.Name, again, err)
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"a*b?c", "axxbyc"}, {"**a", "ba"}, {"?", "é"}, {"mcp__*__read", "mcp__a__b__read"}, {"a.b", "axb"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		if len(glob) > 20 || strings.Count(glob, "*") > 5 {
			return
		}
		expr := strings.NewReplacer(`\*`, "(?s:.*)", `\?`, `(?s:.)`).Replace(regexp.QuoteMeta(glob))
		for i := range len(name) {
			if name[i] >= 0x80 {
				return // names are ASCII; a character is a byte
			}
		}
		re, err := regexp.Compile("^(?:" + expr + ")$")
		if err != nil {
			return
		}
		if got, want := pattern.Match(glob, name), re.MatchString(name); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", glob, name, got, want)
		}
	})
}

func TestCovers(t *testing.T) {
	tool := &pattern.Subject{Name: "mcp__hub__read", Effect: "read", Server: "hub", Groups: []string{"web"}}
	outside := &pattern.Subject{Name: "path:outside", Effect: "read", Permission: true}
	for text, want := range map[string][2]bool{
		"mcp__hub__read": {true, false}, "mcp__hub": {}, "mcp__*": {true, false}, "*": {true, false},
		"effect:read": {true, false}, "effect:write": {}, "server:hub": {true, false}, "server:other": {},
		"group:web": {true, false}, "path:outside": {false, true}, "path:*": {false, true},
		"mcp__hub__read(x)": {true, false},
	} {
		p, err := pattern.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{p.Covers(tool), p.Covers(outside)}; got != want {
			t.Errorf("%s covers the tool, the permission: %v, want %v", text, got, want)
		}
	}
}

func TestPrecision(t *testing.T) {
	last := -1
	for _, text := range []string{"effect:read", "server:hub", "*", "r*", "re?d", "read"} {
		p, err := pattern.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Precision() <= last {
			t.Errorf("%s is not more precise than the one before", text)
		}
		last = p.Precision()
	}
	server, _ := pattern.Parse("server:a")
	group, _ := pattern.Parse("group:a")
	if server.Precision() != group.Precision() {
		t.Error("a server and a group differ")
	}
}
