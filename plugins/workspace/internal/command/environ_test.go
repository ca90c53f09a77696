package command

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	environ := []string{"B=2", "PATH=/bin", "LC_ALL=C", "A_TOKEN=x", "A_B=y", "=C:=x", "broken", "PAGER=less", "HOME=/h"}
	for _, tt := range []struct {
		allow []string
		want  []string
	}{
		{nil, []string{"GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/h", "LC_ALL=C", "NO_COLOR=1", "PAGER=cat", "PATH=/bin", "TERM=dumb"}},
		{[]string{"*"}, []string{"A_B=y", "B=2", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/h", "LC_ALL=C", "NO_COLOR=1", "PAGER=cat", "PATH=/bin", "TERM=dumb"}},
		{[]string{"A_TOKEN", "PAGER"}, []string{"A_TOKEN=x", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "HOME=/h", "LC_ALL=C", "NO_COLOR=1", "PAGER=less", "PATH=/bin", "TERM=dumb"}},
	} {
		if diff := cmp.Diff(tt.want, environment(environ, tt.allow)); diff != "" {
			t.Errorf("allow %q: -want +got\n%s", tt.allow, diff)
		}
	}
	for _, name := range []string{"", "A=B", "[", "a/b"} {
		if CheckEnv([]string{name}) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	if err := CheckEnv([]string{"GOFLAGS", "NPM_*", "PROGRAMFILES(X86)"}); err != nil {
		t.Error(err)
	}
}
