package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// withoutJSON are the commands that print no data, or data that has a form of
// its own.
var withoutJSON = map[string]bool{
	"agentd help": true, "agentd completion": true, "agentd completion bash": true, "agentd completion zsh": true,
	"agentd completion fish": true, "agentd completion powershell": true,
	"agentd": true, "agentd run": true, "agentd init": true, "agentd trust": true,
	"agentd config": true, "agentd config show": true, "agentd config schema": true,
	"agentd policy set": true, "agentd policy revoke": true,
	"agentd plugins enable": true, "agentd plugins disable": true, "agentd plugins restart": true, "agentd plugins new": true,
	"agentd approvals": true, "agentd approvals answer": true, "agentd audit": true,
	"agentd mcp": true, "agentd mcp import": true,
	"agentd sessions backup": true, "agentd sessions compact": true, "agentd sessions export": true,
}

func TestHelp_EveryCommandHasAnExampleAndJSON(t *testing.T) {
	seen := map[string]bool{}
	walkCommands(newRoot(nil), func(c *cobra.Command) {
		path := c.CommandPath()
		seen[path] = true
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short text is %q, want one without a full stop", path, c.Short)
		}
		if !strings.Contains(c.Example, path) {
			t.Errorf("%s: no example of itself in %q", path, c.Example)
		}
		if c.RunE == nil && c.Run == nil {
			t.Errorf("%s does nothing", path)
		}
		if has := c.Flags().Lookup("json") != nil; has == withoutJSON[path] {
			t.Errorf("%s: --json is there: %v", path, has)
		}
	})
	for path := range withoutJSON {
		if !seen[path] {
			t.Errorf("there is no %s", path)
		}
	}
}

func walkCommands(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		walkCommands(sub, f)
	}
}
