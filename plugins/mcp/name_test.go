package mcp

import (
	"regexp"
	"strings"
	"testing"
)

var legalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestRule8_Names(t *testing.T) {
	for _, tt := range []struct{ server, tool, want string }{
		{"files", "read_file", "mcp__files__read_file"},
		{"my-server", "Get-It", "mcp__my-server__Get-It"},
		{"s", "x_y", "mcp__s__x_y"},
		{"s", "x.y", "mcp__s__x_y_9dd89e29d1e9"},
		{"a b", "t", "mcp__a_b__t_c8a6d8f0a2f4"},
	} {
		got := publicName(tt.server, tt.tool)
		// The hash is checked for form; its value only for being the same.
		want := regexp.MustCompile(`_[0-9a-f]{12}$`).ReplaceAllString(tt.want, "")
		if !strings.HasPrefix(got, want) || !legalName.MatchString(got) || got != publicName(tt.server, tt.tool) {
			t.Errorf("publicName(%q, %q) = %q, want %q", tt.server, tt.tool, got, tt.want)
		}
		if changed := clean(tt.server)+clean(tt.tool) != tt.server+tt.tool; changed != (len(got) == len(want)+13) {
			t.Errorf("publicName(%q, %q) = %q: hash or not?", tt.server, tt.tool, got)
		}
	}
}

func TestM1_M2_LongNamesStayApart(t *testing.T) {
	server := "0b5c0a0e-4d6f-4a3e-9a53-0d9a5f3f6f11"
	prefix := strings.Repeat("long_tool_name_", 5)[:60]
	seen := map[string]string{}
	for _, tool := range []string{prefix + "_one", prefix + "_two", prefix + "_three", prefix} {
		got := publicName(server, tool)
		if !legalName.MatchString(got) {
			t.Errorf("publicName(…, %q) = %q", tool, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q are both %q", tool, other, got)
		}
		seen[got] = tool
	}
}

func TestM4_DotAndUnderscoreAreTwoTools(t *testing.T) {
	if a, b := publicName("s", "x.y"), publicName("s", "x_y"); a == b {
		t.Errorf("both are %q", a)
	}
}

func FuzzPublicName(f *testing.F) {
	f.Add("files", "read.file")
	f.Add("", "")
	f.Add("日本", strings.Repeat("x", 100))
	f.Fuzz(func(t *testing.T, server, tool string) {
		if got := publicName(server, tool); !legalName.MatchString(got) {
			t.Errorf("publicName(%q, %q) = %q", server, tool, got)
		}
	})
}
