//go:build unix

package cli_test

import (
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Nothing leaves the machine but what the configuration names. Every way out
// leads through a proxy that counts.
func TestE33_NobodyIsCalledUnasked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var calls atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			c.Close()
		}
	}()
	env := []string{"env", "NO_PROXY="}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://"+l.Addr().String())
	}
	w := newWorkplace(t, "a.txt", "some text\n", "agent.yml", plainConfig+"  memory: {}\n")
	for _, args := range [][]string{
		{"version"}, {"doctor"}, {"config", "check"}, {"plugins"}, {"tools", "search", "read a file"},
		{"chat", `read_file path=a.txt`}, {"sessions"},
	} {
		if _, stderr, code := w.run(t, slices.Concat(env, []string{"agentd"}, args)...); code != 0 {
			t.Errorf("agentd %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
		}
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d connections went out", n)
	}
	// The counter counts: a model that the configuration names is called.
	w.write(t, "agent.yml", strings.Replace(plainConfig, "plugins:\n",
		"plugins:\n  openai: {baseURL: \"http://models.example/v1\", model: m, retries: 0}\n", 1))
	if _, stderr, code := w.run(t, "agentd", "trust", "--yes"); code != 0 {
		t.Fatal(stderr)
	}
	_, _, _ = w.run(t, slices.Concat(env, []string{"agentd", "chat", "hello"})...)
	if calls.Load() == 0 {
		t.Error("the model was not called by way of the proxy: this test sees nothing")
	}
}
