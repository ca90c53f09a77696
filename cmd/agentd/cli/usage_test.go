package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/plugins"
)

func TestUsage_AMistakeInTheCallEndsWith2(t *testing.T) {
	root := inFolder(t)
	file := filepath.Join(root, "agent.yml")
	write(t, file, hereConfig)
	t.Chdir(root)
	for _, line := range []string{
		"nope", "--nope", "version extra", "run extra",
		"completion nope", "completion bash extra", "completion bash --nope",
		"help nope", "help tools nope", "help tools show extra",
		"tools nope", "tools show", "tools call read_file no-json", "tools --agent nope",
		"tools search --limit -1 mail", "tools search --agent nope mail", "tools why --agent nope read_file",
		"policy set read_file sometimes", "policy explain read_file no-json", "policy explain --agent nope read_file",
		"policy nope", "plugins nope", "sessions nope", "config nope", "mcp nope", "audit nope", "approvals nope",
		"audit tail -n -5", "mcp --server nope", "mcp --host x",
		"chat --agent nope hello", "chat --allow [ hello", "chat --deny= hello", "chat ''", "chat '' ''", "chat ' '",
		"--log-level loud version", "--log-format xml version", "--log-level loud policy set a off",
		"--log-format xml help", "--log-level loud completion bash",
		"--set nonsense tools", "--set a=1 tools", "--set plugins.nope.a=1 tools", "--set plugins.agent.nope=1 chat hello",
	} {
		t.Run(line, func(t *testing.T) {
			c := newRoot(plugins.Standard())
			c.SetArgs(words(line))
			c.SetOut(io.Discard)
			err := c.ExecuteContext(t.Context())
			if got := exitCode(err); got != exitUsage {
				t.Errorf("%q ends with %d, want %d: %v", line, got, exitUsage, err)
			}
		})
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != hereConfig {
		t.Errorf("a wrong call wrote the file: %q, %v", text, err)
	}
}

// words splits a line at spaces; ” is an empty word, and ' ' a space.
func words(line string) []string {
	list := strings.Fields(strings.ReplaceAll(line, "' '", "'_'"))
	for i, word := range list {
		if strings.HasPrefix(word, "'") {
			list[i] = strings.ReplaceAll(strings.Trim(word, "'"), "_", " ")
		}
	}
	return list
}
