package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/agentd-host/agentd/cmd/agentd/cli"
	"github.com/agentd-host/agentd/plugins"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"agentd": func() { os.Exit(cli.Main(plugins.Standard())) },
		// The same with a model that plays a script, see scripted.
		"agentd-scripted": func() { os.Exit(cli.Main(plugins.Standard(), cli.Plugin(scripted))) },
	})
}

// leakChecked fails when a goroutine outlives the tests.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScripts runs what a person would type. Beside testscript's own commands
// the scripts know:
//
//	start NAME PROGRAM ARGS...   run a program with its stdin open
//	send NAME LINE               write a line to it
//	expect NAME REGEXP           wait until new output (stdout or stderr) matches
//	end NAME [CODE]              close its stdin and wait for it to exit
//	leaves NAME [CODE]           wait for it to exit, its stdin still open
//	signal NAME int|term|hup|kill
//	signal-pid FILE kill         the same for the process whose pid is in a file
//	wait-file FILE               wait until the file is there
//	wait-dead FILE               wait until that process is gone
//	replace FILE OLD NEW         edit a file as an editor does: write, rename
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("AGENTD_HOME", filepath.Join(home, "state"))
			env.Setenv("USER", "tester")
			env.Setenv("NPM", os.Getenv("AGENTD_E2E_NPM"))
			env.Values["programs"] = &programs{}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "send": send, "expect": expect, "end": end, "leaves": leaves,
			"signal": signalProgram, "replace": replace, "running": isRunning,
			"signal-pid": signalPID, "wait-dead": waitDead, "wait-file": waitFile,
			"wait-tools": waitTools, "wait-gone": waitGone, "pid-of": pidOf,
		},
	})
}

// programs are those that a script started.
type programs struct{ m map[string]*program }

// program is a process with its stdin open and its output collected.
type program struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed after exit

	mu   sync.Mutex
	out  bytes.Buffer
	seen int           // how much of out was matched
	more chan struct{} // replaced and closed at each write
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.more)
	p.more = make(chan struct{})
	return p.out.Write(b)
}

func named(ts *testscript.TestScript, name string) *program {
	p := ts.Value("programs").(*programs).m[name]
	if p == nil {
		ts.Fatalf("no program %q was started", name)
	}
	return p
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value("programs").(*programs)
	if all.m == nil {
		all.m = map[string]*program{}
	}
	path, err := exec.LookPath(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], args[1]))
	if err != nil {
		path, err = exec.LookPath(args[1])
	}
	ts.Check(err)
	p := &program{cmd: exec.Command(path, args[2:]...), done: make(chan struct{}), more: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = scriptEnv(ts)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.stdin, err = p.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	go func() {
		p.cmd.Wait() //nolint:errcheck // read from ProcessState
		close(p.done)
	}()
	all.m[args[0]] = p
	ts.Defer(func() {
		p.cmd.Process.Kill() //nolint:errcheck // it ended already
		<-p.done
	})
}

func scriptEnv(ts *testscript.TestScript) []string {
	var env []string
	for _, key := range []string{"PATH", "HOME", "AGENTD_HOME", "USER", "TMPDIR", "NPM", "NO_COLOR", "TERM", "WORK", "SECRET_KEY"} {
		env = append(env, key+"="+ts.Getenv(key))
	}
	return env
}

func send(ts *testscript.TestScript, neg bool, args []string) {
	_, err := io.WriteString(named(ts, args[0]).stdin, strings.Join(args[1:], " ")+"\n")
	ts.Check(err)
}

// patience is how long expect and end wait: long enough for a loaded machine,
// short enough to tell where a script hangs.
const patience = 30 * time.Second

func expect(ts *testscript.TestScript, neg bool, args []string) {
	p := named(ts, args[0])
	re, err := regexp.Compile(strings.Join(args[1:], " "))
	ts.Check(err)
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		rest, more := p.out.Bytes()[p.seen:], p.more
		if at := re.FindIndex(rest); at != nil {
			ts.Logf("%s: %s", args[0], rest[:at[1]])
			p.seen += at[1]
			p.mu.Unlock()
			return
		}
		text := string(rest)
		p.mu.Unlock()
		select {
		case <-more:
		case <-p.done:
			// What it wrote last has arrived before done was closed.
			p.mu.Lock()
			last := p.out.Bytes()[p.seen:]
			p.mu.Unlock()
			if !re.Match(last) {
				ts.Fatalf("%s ended without %q:\n%s", args[0], re, last)
			}
		case <-timeout:
			ts.Fatalf("%s: no %q in:\n%s", args[0], re, text)
		}
	}
}

func end(ts *testscript.TestScript, neg bool, args []string) {
	named(ts, args[0]).stdin.Close()
	leaves(ts, neg, args)
}

func leaves(ts *testscript.TestScript, neg bool, args []string) {
	p := named(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(patience):
		ts.Fatalf("%s does not end:\n%s", args[0], p.out.String())
	}
	want := "0"
	if len(args) > 1 {
		want = args[1]
	}
	if got := fmt.Sprint(p.cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("%s ended with %s, want %s:\n%s", args[0], got, want, p.out.String())
	}
}

func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("there is no %s", args[0])
		}
	}
}

func replace(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(text), args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	next := strings.ReplaceAll(string(text), args[1], strings.ReplaceAll(args[2], `\n`, "\n"))
	ts.Check(os.WriteFile(path+".new", []byte(next), 0o644))
	ts.Check(os.Rename(path+".new", path))
}
