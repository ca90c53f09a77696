//go:build unix

package cli_test

import (
	"os"
	"strings"
	"testing"
)

// shServer is an MCP server with one tool, which leaves a mark when it starts.
const shServer = `#!/bin/sh
echo started >> started
while read -r line; do
	id=$(printf '%s' "$line" | sed -nE 's/.*"id":("[^"]*"|[0-9]+).*/\1/p')
	case $line in
	*'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}' ;;
	*'"method":"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}}' ;;
	*'"method":"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"hello from sh"}]}}' ;;
	esac
done
`

const shConfig = `tools:
  policy: {"mcp__*": auto}
plugins:
  offline: {}
  agent: {}
  toolpolicy: {}
  mcp:
    servers:
      a: {command: sh, args: [server.sh, one], era: legacy}
`

// changed is a workplace whose server was started once and is another one now.
func changed(t *testing.T) workplace {
	t.Helper()
	w := newWorkplace(t, "server.sh", shServer, "agent.yml", shConfig)
	if stdout, stderr, _ := w.run(t, "agentd", "mcp", "status", "-c", "agent.yml"); !strings.Contains(stdout, "ready") {
		t.Fatalf("the first start: %s%s", stdout, stderr)
	}
	w.write(t, "agent.yml", strings.Replace(shConfig, "one", "two", 1))
	w.forget(t)
	return w
}

// forget takes the mark of a start away.
func (w workplace) forget(t *testing.T) {
	t.Helper()
	if err := os.Remove(w.dir + "/started"); err != nil {
		t.Fatal(err)
	}
}

func TestE18_AtATerminalTheQuestionComesBeforeTheTurn(t *testing.T) {
	w := changed(t)
	p := w.sit(t, 200, "agentd", "chat", "-c", "agent.yml", "mcp__a__hello")
	p.sees("mcp:a wants to run", "runs │ sh server.sh two", "was │ sh server.sh one", "its command line changed", "answer> ")
	if w.read(t, "started") != "" {
		t.Fatal("started before the answer")
	}
	p.says("y")
	p.sees("hello from sh")
	p.leaves(0)
	p = w.sit(t, 200, "agentd", "chat", "-c", "agent.yml", "mcp__a__hello")
	p.sees("hello from sh")
	p.lacks("wants to run")
	p.leaves(0)
}

func TestE18_InAConversationANoHolds(t *testing.T) {
	w := changed(t)
	p := w.sit(t, 200, "agentd", "chat", "-c", "agent.yml")
	p.sees("mcp:a wants to run", "answer> ")
	p.says("n")
	p.sees("> ")
	p.types("\x04")
	p.leaves(0)
	if w.read(t, "started") != "" {
		t.Error("started after a no")
	}
}

// What trust shows is not asked about again.
func TestE14_E18_TrustIsConsent(t *testing.T) {
	w := newWorkplace(t, "server.sh", shServer, "agent.yml", shConfig)
	for _, arg := range []string{"one", "two"} {
		w.write(t, "agent.yml", strings.Replace(shConfig, "one", arg, 1))
		if _, stderr, code := w.run(t, "agentd", "trust", "--yes"); code != 0 || !strings.Contains(stderr, arg) {
			t.Fatalf("agentd trust: %d\n%s", code, stderr)
		}
		stdout, stderr, _ := w.run(t, "agentd", "mcp", "status")
		if !strings.Contains(stdout, "ready") || strings.Contains(stdout, "consent") {
			t.Errorf("%s: %s%s", arg, stdout, stderr)
		}
		w.forget(t)
	}
	// The same by the question of the first start.
	w.write(t, "agent.yml", strings.Replace(shConfig, "one", "three", 1))
	p := w.sit(t, 200, "agentd", "chat", "mcp__a__hello")
	p.sees(`"three"`, `trust them as they are\?.*\[y/N\]`)
	p.says("y")
	p.sees("hello from sh")
	p.lacks("wants to run")
	p.leaves(0)
}

// An import shows what would run, and is asked about where somebody sits.
func TestE18_AnImportIsConsent(t *testing.T) {
	w := newWorkplace(t, "server.sh", shServer, "agent.yml", shConfig, "theirs.json",
		`{"mcpServers":{"b":{"command":"sh","args":["server.sh","$(id)  x"],"env":{"KEY":"canary-991"}}}}`)
	p := w.sit(t, 200, "agentd", "mcp", "import", "-c", "agent.yml", "theirs.json")
	p.sees(`b runs sh server.sh "\$\(id\)  x" with KEY`, `to be started\? \[y/N\]`)
	p.says("n")
	p.sees("nothing was written")
	p.leaves(1)
	if w.read(t, "agent.yml") != shConfig {
		t.Error("it was written all the same")
	}
	p = w.sit(t, 200, "agentd", "mcp", "import", "-c", "agent.yml", "theirs.json")
	p.sees(`\[y/N\]`)
	p.says("y")
	p.sees("added b")
	p.leaves(0)
	record := w.read(t, "../home/state/mcp/consent.json")
	if !strings.Contains(record, "by agentd mcp import") || strings.Contains(record, "canary") {
		t.Errorf("record: %s", record)
	}
}
