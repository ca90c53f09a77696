package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentd-host/agentd/internal/procguard"
	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func start(t testing.TB, opts *Options, flags ...string) *Conn {
	t.Helper()
	name, args, env := fake.Command(flags...)
	c, err := Start(Command{Name: name, Args: args, Env: env}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(t *testing.T, c *Conn, id int, method, params string) {
	t.Helper()
	rid, err := jsonrpc.MakeID(float64(id))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), &jsonrpc.Request{ID: rid, Method: method, Params: []byte(params)}); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c *Conn) *jsonrpc.Response {
	t.Helper()
	for {
		msg, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if res, ok := msg.(*jsonrpc.Response); ok {
			return res
		}
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}

func awaitDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); alive(pid); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

func TestRule2_NoiseIsSkippedAndCounted(t *testing.T) {
	c := start(t, nil, "-banner", "-noise")
	for i := 1; i <= 3; i++ {
		send(t, c, i, "ping", "{}")
		res := receive(t, c)
		if res.ID.Raw() != int64(i) || string(res.Result) != "{}" {
			t.Fatalf("answer %d = %v %s", i, res.ID.Raw(), res.Result)
		}
	}
	// Two banner lines (its blank one does not count) and two a message.
	n, last := c.Noise()
	if n != 8 {
		t.Errorf("noise = %d lines, want 8; last %q", n, last)
	}
	if len(last) != noiseKept || last[len(last)-1] != `{"level":"info"}` {
		t.Errorf("kept %q", last)
	}
}

func TestRule2_ALineOverTheCapFailsOneCall(t *testing.T) {
	c := start(t, &Options{MaxLine: 1 << 20})
	send(t, c, 1, "tools/call", `{"name":"big","arguments":{"n":3000000}}`)
	res := receive(t, c)
	if res.ID.Raw() != int64(1) || res.Error == nil || !strings.Contains(res.Error.Error(), "over the limit of 1048576") {
		t.Fatalf("big answer = %v %v", res.ID.Raw(), res.Error)
	}
	send(t, c, 2, "ping", "{}")
	if res := receive(t, c); res.ID.Raw() != int64(2) || res.Error != nil {
		t.Fatalf("next call = %v %v", res.ID.Raw(), res.Error)
	}
}

func TestRule9_A20MiBTextArrives(t *testing.T) {
	c := start(t, nil)
	send(t, c, 1, "tools/call", `{"name":"big","arguments":{"n":20971520}}`)
	if res := receive(t, c); res.Error != nil || len(res.Result) < 20<<20 {
		t.Fatalf("got %d bytes, error %v", len(res.Result), res.Error)
	}
}

func TestRule2_IDAsString(t *testing.T) {
	c := start(t, nil, "-string-id")
	send(t, c, 41, "ping", "{}")
	if res := receive(t, c); res.ID.Raw() != int64(41) {
		t.Fatalf("id = %#v", res.ID.Raw())
	}
}

func TestRule2_StderrIsShownWithTheError(t *testing.T) {
	c := start(t, nil, "-crash-at-start")
	_, err := c.Read(t.Context())
	var exit *ExitError
	if !errors.As(err, &exit) || exit.State != "exit status 3" || !strings.Contains(exit.Error(), "left-pad") {
		t.Fatalf("err = %v", err)
	}
}

func TestRule2_StderrIsBoundedAndRedacted(t *testing.T) {
	ring := &tail{max: 10}
	_, _ = ring.Write([]byte("0123456789abcdef"))
	_, _ = ring.Write([]byte("XY"))
	if got := ring.String(); got != "89abcdefXY" {
		t.Errorf("tail = %q", got)
	}
	redact := func(s string) string { return strings.ReplaceAll(s, "left-pad", "***") }
	c := start(t, &Options{Redact: redact}, "-crash-at-start")
	if _, err := c.Read(t.Context()); err == nil || strings.Contains(err.Error(), "left-pad") {
		t.Errorf("err = %v", err)
	}
}

func TestE21_OnlyTheAllowListReachesTheServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("LC_TIME", "C")
	name, args, env := fake.Command()
	env["GIVEN"] = "by config"
	c, err := Start(Command{Name: name, Args: args, Env: env}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send(t, c, 1, "tools/call", `{"name":"env"}`)
	got := string(receive(t, c).Result)
	for _, want := range []string{"GIVEN=by config", "PATH=", "LC_TIME=C"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "canary") {
		t.Errorf("a provider key reached the server: %s", got)
	}
}

func TestE21_ArgumentsAreNotReadByAShell(t *testing.T) {
	name, _, env := fake.Command()
	hostile := "-state=$(touch /tmp/owned); `id` | cat > x && *"
	dir := t.TempDir()
	c, err := Start(Command{Name: name, Args: []string{hostile}, Env: env, Dir: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send(t, c, 1, "tools/call", `{"name":"args"}`)
	if got := string(receive(t, c).Result); !strings.Contains(got, "$(touch /tmp/owned); `id` | cat") {
		t.Errorf("args = %s", got)
	}
}

func TestRule2_StartErrorsSayWhatToChange(t *testing.T) {
	name, _, _ := fake.Command()
	for _, tt := range []struct {
		cmd  Command
		want string
	}{
		{Command{}, "the command is empty"},
		{Command{Name: "no-such-program-here"}, "no-such-program-here: not found in PATH"},
		{Command{Name: name, Dir: "/no/such/folder"}, "cwd /no/such/folder"},
	} {
		if _, err := Start(tt.cmd, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Start(%+v) = %v, want %q", tt.cmd, err, tt.want)
		}
	}
}

// grandchild returns the pid that the fake announces on stderr.
func grandchild(t *testing.T, c *Conn) int {
	t.Helper()
	var pid int
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if n, _ := fmt.Sscanf(c.Stderr(), "grandchild %d", &pid); n == 1 {
			return pid
		}
	}
	t.Fatal("no grandchild was announced")
	return 0
}

func TestM14_StopEndsTheWholeGroup(t *testing.T) {
	for _, flags := range [][]string{
		{"-grandchild"},
		{"-grandchild", "-ignore-eof"},
		{"-grandchild", "-ignore-eof", "-ignore-term"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			c := start(t, &Options{Grace: 20 * time.Millisecond}, flags...)
			child := grandchild(t, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			awaitDead(t, child)
			if alive(c.PID()) {
				t.Errorf("the server %d still runs", c.PID())
			}
			if err := c.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		})
	}
}

func TestM14_ACrashTakesTheGroupAlong(t *testing.T) {
	c := start(t, nil, "-grandchild")
	child := grandchild(t, c)
	send(t, c, 1, "tools/call", `{"name":"crash"}`)
	var exit *ExitError
	if _, err := c.Read(t.Context()); !errors.As(err, &exit) || exit.State != "exit status 7" {
		t.Fatalf("err = %v", err)
	}
	awaitDead(t, child)
}

func TestM14_OneHundredRestartsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	guard := new(procguard.Guard)
	if err := guard.Start(); err != nil {
		t.Skip(err)
	}
	defer guard.Close()
	start(t, &Options{Guard: guard}).Close()
	before := openFiles(t)
	for range restarts {
		c := start(t, &Options{Guard: guard, Grace: 5 * time.Second})
		send(t, c, 1, "ping", "{}")
		receive(t, c)
		c.Close()
		if alive(c.PID()) {
			t.Fatalf("process %d is left", c.PID())
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("open files: %d before, %d after", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

func TestRule2_CloseUnblocksRead(t *testing.T) {
	c := start(t, nil, "-silent")
	done := make(chan error)
	go func() {
		_, err := c.Read(context.WithoutCancel(t.Context()))
		done <- err
	}()
	c.Close()
	if err := <-done; err == nil {
		t.Error("Read returned a message from a silent server")
	}
}
