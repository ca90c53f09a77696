// Command agentd hosts LLM agents. See the package cli for its commands.
package main

import (
	"os"

	"github.com/agentd-host/agentd/cmd/agentd/cli"
	"github.com/agentd-host/agentd/plugins"
)

func main() { os.Exit(cli.Main(plugins.Standard())) }
