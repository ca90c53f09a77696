//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins"
)

// hostHere starts a host in this process, in a folder of its own.
func hostHere(t *testing.T, config string) *running {
	t.Helper()
	root := inFolder(t)
	path := filepath.Join(root, "project/agent.yml")
	write(t, path, config)
	write(t, filepath.Join(root, "project/a.txt"), "hello from a file\n")
	s := &settings{plugins: plugins.Standard(), console: &console{out: io.Discard}, config: path, logFormat: "text"}
	h, err := s.start(t.Context(), slog.LevelWarn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// remoteOf serves a host on its socket and dials it.
func remoteOf(t *testing.T, h *running) *remote {
	t.Helper()
	server, err := listenSocket(h.env, h, operations())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(server.path); err == nil {
			t.Error("the socket is still there")
		}
	})
	info, err := os.Stat(server.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info, err)
	}
	r := dialDaemon(server.path)
	if r == nil {
		t.Fatal("nobody listens")
	}
	return r
}

const hereConfig = `tools: {policy: {run_command: ask, search_files: off}}
plugins:
  offline: {}
  agent: {}
  toolpolicy: {}
  toolsearch: {}
  workspace: {}
  memory: {}
  mcp: {servers: {later: {command: "true", disabled: true}}}
`

// Each operation gives the same, and fails alike, here and over the socket.
func TestOperations_LocalAndRemoteGiveTheSame(t *testing.T) {
	h := hostHere(t, hereConfig)
	here, there := target{local: h}, target{remote: remoteOf(t, h)}
	run := func(name string, do func(target) (any, error)) {
		t.Helper()
		local, lerr := do(here)
		remote, rerr := do(there)
		if diff := cmp.Diff(asJSON(t, local), asJSON(t, remote)); diff != "" && lerr == nil {
			t.Errorf("%s:\n%s", name, diff)
		}
		if exitCode(lerr) != exitCode(rerr) || (lerr != nil) != (rerr != nil) || lerr != nil && lerr.Error() != rerr.Error() {
			t.Errorf("%s: %v here, %v there", name, lerr, rerr)
		}
	}
	ctx := t.Context()
	each(t, run, toolsList, listTools{}, listTools{Agent: "nobody"})
	each(t, run, toolsShow, showTool{Name: "read_file"}, showTool{Name: "read_fil"}, showTool{Name: "search_files"})
	each(t, run, toolsWhy, showTool{Name: "read_file"}, showTool{Name: "search_files"}, showTool{Name: "nothing"})
	each(t, run, toolsSearch, searchTools{Query: "read a file", Limit: 3, Explain: true})
	each(t, run, toolsStats, listTools{})
	each(t, run, policyList, struct{}{})
	each(t, run, policyExplain, explainPolicy{Tool: "run_command", Args: json.RawMessage(`{"command":"ls"}`)}, explainPolicy{Tool: "nothing"})
	each(t, run, policyGrants, struct{}{})
	each(t, run, policyRevoke, entryID{"none"})
	each(t, run, pluginsList, struct{}{})
	each(t, run, pluginsRestart, entryID{"no-such-entry"})
	each(t, run, mcpStatus, struct{}{})
	each(t, run, approvalsList, pendingApprovals{})
	each(t, run, approvalsAnswer, answerApproval{ID: "none", Line: "y"})
	each(t, run, auditFile, struct{}{})
	each(t, run, sessionsList, struct{}{})
	each(t, run, sessionsShow, entryID{"last"}, entryID{"none"})
	each(t, run, sessionsFork, forkSession{ID: "none"})
	each(t, run, sessionsClear, core.ClearRequest{Session: "none"})
	each(t, run, sessionsPrune, pruneSessions{Before: time.Unix(1, 0)})
	run("tools/call", func(on target) (any, error) {
		return callFrom(ctx, on, callTool{Name: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`)})
	})
	run("tools/call, unknown", func(on target) (any, error) {
		return callFrom(ctx, on, callTool{Name: "nothing", Args: json.RawMessage(`{}`)})
	})
	run("tools/call, nobody to ask", func(on target) (any, error) {
		return callFrom(ctx, on, callTool{Name: "run_command", Args: json.RawMessage(`{"command":"true"}`)})
	})
	run("tools/call, no such agent", func(on target) (any, error) {
		return callFrom(ctx, on, callTool{Agent: "nobody", Name: "read_file"})
	})
}

func each[In, Out any](t *testing.T, run func(string, func(target) (any, error)), op operation[In, Out], inputs ...In) {
	t.Helper()
	for _, in := range inputs {
		run(op.name, func(on target) (any, error) { return op.do(t.Context(), on, in) })
	}
}

// Every operation is one that the daemon answers.
func TestOperations_AllAreServed(t *testing.T) {
	served := map[string]bool{}
	for _, op := range operations() {
		served[op.path()] = true
	}
	for _, source := range sourceFiles(t) {
		for _, found := range operationName.FindAllStringSubmatch(source, -1) {
			if !served["/v1/"+found[1]] {
				t.Errorf("%s is not served", found[1])
			}
		}
	}
}

var operationName = regexp.MustCompile(`= operation\[[^\n]*\]\{"([a-z/]+)"`)

func sourceFiles(t *testing.T) (texts []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSocket_RefusesOddRequests(t *testing.T) {
	h := hostHere(t, hereConfig)
	r := remoteOf(t, h)
	var out any
	if err := r.post(t.Context(), "/v1/no/such/operation", []byte("{}"), &out); err == nil {
		t.Error("an unknown operation was answered")
	}
	if err := r.post(t.Context(), toolsShow.path(), []byte("no JSON"), &out); err == nil || exitCode(err) != exitError {
		t.Errorf("no JSON: %v", err)
	}
	if err := r.post(t.Context(), toolsShow.path(), make([]byte, maxBody+1), &out); err == nil || !strings.Contains(err.Error(), "large") {
		t.Errorf("a huge body: %v", err)
	}
}
