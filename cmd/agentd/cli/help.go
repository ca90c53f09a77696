package cli

import "github.com/spf13/cobra"

// addHelp adds the commands that cobra brings along, help and completion, and
// has them refuse what they do not know, as all others do.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			completeHelp(c)
		case "completion":
			completeCompletion(c)
		}
	}
}

func completeHelp(c *cobra.Command) {
	c.Example = "  agentd help policy set"
	c.Run = nil
	c.RunE = func(c *cobra.Command, args []string) error {
		about, rest, err := c.Root().Find(args)
		if err != nil {
			return usageError(err)
		}
		if err := noArgs(about, rest); err != nil {
			return err
		}
		about.InitDefaultHelpFlag() // so that it is shown
		return about.Help()
	}
}

func completeCompletion(c *cobra.Command) {
	group(c)
	c.Example = "  source <(agentd completion bash)"
	for _, shell := range c.Commands() {
		shell.Args = noArgs
		shell.Example = "  " + shell.CommandPath()
	}
}
