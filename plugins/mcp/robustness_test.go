//go:build linux

package mcp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentd-host/agentd/core"
)

// TestRobustness has a row for each way in which a server can be wrong: what
// it does, and what has to be seen of it here. After each row nothing of the
// server may be left, whatever it ignores or started.
func TestRobustness(t *testing.T) {
	const all = 19 // tools of the fake
	short := func(d time.Duration) func(*ServerConfig) {
		return func(c *ServerConfig) { c.StartTimeout = d }
	}
	auto := func(c *ServerConfig) { c.Era = eraAuto }
	for name, row := range map[string]struct {
		flags  []string
		config func(*ServerConfig)
		tools  int    // 0: it does not become ready
		says   string // in its status
		// calls are made when it is ready: a tool, and what comes back or is
		// said.
		calls [][2]string
	}{
		"prints a banner on stdout":                {flags: []string{"-banner"}, tools: all, says: "2 lines on stdout were no messages, the last: listening on stdio"},
		"prints log lines between the answers":     {flags: []string{"-noise"}, tools: all, says: `were no messages, the last: {"level":"info"}`},
		"prints JSON that is no message":           {flags: []string{"-odd-lines"}, tools: all, says: "were no messages"},
		"ends lines as Windows does":               {flags: []string{"-crlf"}, tools: all},
		"answers everything twice":                 {flags: []string{"-twice"}, tools: all},
		"floods stderr without a line break":       {flags: []string{"-stderr-flood"}, tools: all},
		"answers with the id as a string":          {flags: []string{"-string-id"}, tools: all},
		"does not answer server/discover":          {flags: []string{"-silent-discover"}, config: auto, tools: all},
		"exits on server/discover":                 {flags: []string{"-exit-on-discover"}, config: auto, tools: all},
		"has a cursor that does not advance":       {flags: []string{"-endless-cursor"}, tools: all, says: "does not end"},
		"has cursors that go round":                {flags: []string{"-cursor-cycle"}, tools: all, says: "does not end"},
		"lists schemas that are none":              {flags: []string{"-bad-schemas"}, tools: all + 13, says: "the entry has no name"},
		"says after each list that it changed":     {flags: []string{"-notify-after-list"}, tools: all},
		"says in each call 200 times that it did":  {flags: []string{"-storm", "200"}, tools: all},
		"has an unknown revision of the protocol":  {flags: []string{"-protocol", "1999-01-01"}, says: "1999-01-01"},
		"answers initialize with an error":         {flags: []string{"-init-error"}, says: "no licence"},
		"does not import":                          {flags: []string{"-crash-at-start"}, says: "Cannot find module 'left-pad'"},
		"exits when the handshake is over":         {flags: []string{"-exit-after-init"}, says: "exit status 5"},
		"never answers":                            {flags: []string{"-silent"}, config: short(200 * time.Millisecond), says: "not ready after 200ms (startTimeout)"},
		"starts too slowly":                        {flags: []string{"-slow-start", "1m"}, config: short(200 * time.Millisecond), says: "startTimeout"},
		"answers tools/list with an error":         {flags: []string{"-list-error"}, says: "the backend is down"},
		"lists tools as an object":                 {flags: []string{"-tools-object"}, says: "tools is not a list"},
		"ignores the end of stdin":                 {flags: []string{"-ignore-eof"}, tools: all},
		"ignores the end of stdin and SIGTERM":     {flags: []string{"-ignore-eof", "-ignore-term"}, tools: all},
		"starts a child that ignores all":          {flags: []string{"-grandchild"}, tools: all},
		"never answers and ignores all":            {flags: []string{"-silent", "-ignore-eof", "-ignore-term", "-grandchild"}, config: short(200 * time.Millisecond), says: "startTimeout"},
		"returns a block of an unknown type":       {tools: all, calls: [][2]string{{"unknown_block", "seen"}}},
		"returns 20 MiB in a line":                 {tools: all, calls: [][2]string{{"big 20971520", "xxx"}}},
		"returns more than any line may have":      {tools: all, calls: [][2]string{{"big 70000000", "over the limit of 67108864"}}},
		"fails with blocks":                        {tools: all, calls: [][2]string{{"fails", "disk full\ntry later"}}},
		"refuses by the protocol":                  {tools: all, calls: [][2]string{{"refuses", "not today (-32099)"}}},
		"crashes in a call":                        {tools: all, calls: [][2]string{{"crash", "exit status 7; its stderr ends with: panic: out of cheese"}}},
		"closes its output in a call and stays":    {flags: []string{"-ignore-eof"}, tools: all, calls: [][2]string{{"close_stdout", "it closed its output"}}},
		"is silent in a call":                      {config: func(c *ServerConfig) { c.CallTimeout = 50 * time.Millisecond }, tools: all, calls: [][2]string{{"sleep 600000", "no answer and no progress for 50ms (callTimeout)"}}},
		"makes progress and no end":                {config: func(c *ServerConfig) { c.CallCap = 50 * time.Millisecond }, tools: all, calls: [][2]string{{"sleep 600000", "after 50ms (callCap)"}}},
		"answers a call that was given up already": {config: func(c *ServerConfig) { c.CallCap = 50 * time.Millisecond }, tools: all, calls: [][2]string{{"sleep 200", "after 50ms (callCap)"}, {"echo", "echo: "}}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := fakeServer(row.flags...)
			if row.config != nil {
				row.config(&cfg)
			}
			mark := filepath.Join(t.TempDir(), "mark")
			cfg.Env["MARK"] = mark
			r := start(t, map[string]ServerConfig{"a": cfg, "good": fakeServer()})
			if row.tools > 0 {
				if s := r.ready("a"); s.Tools != row.tools || s.Error != "" {
					t.Errorf("status = %+v", s)
				}
			}
			eventually(t, "it says "+row.says, func() bool {
				s := r.status("a")
				return strings.Contains(s.Error+"\n"+s.Detail, row.says)
			})
			if s := r.status("a"); row.tools == 0 && (s.State != core.SourceUnavailable && s.State != core.SourceConnecting || s.Tools > 0) {
				t.Errorf("status = %+v", s)
			}
			for _, c := range row.calls {
				r.says("a", c[0], c[1])
			}
			if row.tools > 0 { // whatever happened, it is as good as before
				r.says("a", "echo", "echo: ")
			}
			r.says("good", "echo", "echo: ")
			if err := r.Host.Close(t.Context()); err != nil {
				t.Error(err)
			}
			awaitNone(t, mark)
		})
	}
}

// says makes a call, "tool" or "tool n", and checks what comes of it.
func (r *rig) says(server, call, want string) {
	r.t.Helper()
	tool, n, _ := strings.Cut(call, " ")
	args := map[string]any{}
	if n != "" {
		args["n"], _ = strconv.Atoi(n)
	}
	r.ready(server)
	res := r.Call("mcp__"+server+"__"+tool, args)
	got := res.Text()
	if res.Err != nil {
		got = res.Err.Message
	}
	if !strings.Contains(got, want) {
		r.t.Errorf("%s says %.300q, want %q", call, got, want)
	}
}

// awaitNone waits until no process has the mark in its environment and none
// of our children is a zombie.
func awaitNone(t *testing.T, mark string) {
	t.Helper()
	eventually(t, "no process is left", func() bool { return len(marked(mark)) == 0 })
	if z := zombies(t); len(z) > 0 {
		t.Errorf("zombies: %v", z)
	}
}

// marked are the processes with a text in their environment.
func marked(mark string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if env, err := os.ReadFile(f); err == nil && bytes.Contains(env, []byte(mark)) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

// zombies are our children that ended and were not collected.
func zombies(t *testing.T) (pids []string) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		stat, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		if fields := strings.Fields(string(rest)); len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(os.Getpid()) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

// A hundred servers that end in every way leave neither process nor file.
func TestRobustness_OneHundredRestartsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	mark := filepath.Join(t.TempDir(), "mark")
	cfg := fakeServer()
	cfg.Env["MARK"] = mark
	servers := map[string]ServerConfig{"a": cfg}
	r := start(t, servers)
	r.ready("a")
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	restart := func(i int) {
		switch i % 3 {
		case 0: // it dies in a call; the next one starts it
			r.Call("mcp__a__crash", nil)
		case 1: // its connection is dropped
			p := r.projection("a").server
			p.live().end(errNeverRan)
		case 2: // its entry goes and comes
			r.update(nil)
			r.update(servers)
			r.ready("a")
		}
		r.text("mcp__a__pid", nil)
	}
	for i := range 6 {
		restart(i)
	}
	before, pids := files(), map[string]bool{}
	for i := range 100 {
		restart(i)
		pids[r.text("mcp__a__pid", nil)] = true
		if alive := marked(mark); len(alive) > 1 {
			eventually(t, "only one process", func() bool { return len(marked(mark)) == 1 })
		}
	}
	if len(pids) != 100 {
		t.Errorf("%d processes in 100 restarts", len(pids))
	}
	if z := zombies(t); len(z) > 0 {
		t.Errorf("zombies: %v", z)
	}
	if after := files(); after > before {
		t.Errorf("%d files open before, %d after", before, after)
	}
	if err := r.Host.Close(t.Context()); err != nil {
		t.Error(err)
	}
	awaitNone(t, mark)
}

// A server whose list is null has no tools, which is no failure.
func TestRobustness_ANullListIsAnEmptyOne(t *testing.T) {
	r := start(t, map[string]ServerConfig{"a": fakeServer("-null-tools")})
	eventually(t, "it is ready", func() bool { return r.status("a").State == core.SourceReady })
	if s := r.status("a"); s.Tools != 0 || s.Error != "" || s.Detail != "" {
		t.Errorf("status = %+v", s)
	}
}

// The flags of the fake that are defects all have a row.
func TestRobustness_EveryDefectHasARow(t *testing.T) {
	source, err := os.ReadFile("robustness_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("internal/fake/fake.go")
	if err != nil {
		t.Fatal(err)
	}
	noDefect := map[string]bool{"modern": true, "spaced": true, "mutate": true, "tools": true, "state": true}
	for _, line := range strings.Split(string(text), "\n") {
		_, rest, ok := strings.Cut(line, "Var(&s.")
		if !ok {
			continue
		}
		flag := strings.Split(rest, `"`)[1]
		if !bytes.Contains(source, []byte(`"-`+flag+`"`)) && !noDefect[flag] {
			t.Errorf("no row for a server with -%s", flag)
		}
	}
}
