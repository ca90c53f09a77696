package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core/config"
)

func newConfig(s *settings) *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Check and show the configuration",
		Example: "  agentd config check\n  agentd config show\n  agentd config schema > agent.schema.json",
	}, newConfigCheck(s), newConfigShow(s), newConfigSchema(s))
}

// checked is what config check has to say.
type checked struct {
	OK       bool     `json:"ok"`
	File     string   `json:"file,omitempty"`
	Entries  int      `json:"entries"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	LeftOut  []string `json:"leftOut,omitempty"`
}

func newConfigCheck(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Read the configuration and report everything that is wrong with it",
		Long: "check reads the configuration and reports everything that is wrong with it. It\n" +
			"starts nothing. Where a daemon runs on it, rules that are about none of the\n" +
			"daemon's tools are noted, too: they may be misspelt.",
		Example: "  agentd config check -c agent.yml",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := s.loadConfig()
			report := checkReport(doc, err)
			report.Warnings = append(report.Warnings, s.idleRules(c.Context())...)
			if asJSON {
				if err := printJSON(os.Stdout, report); err != nil {
					return err
				}
				return coded(report.OK, nil)
			}
			for _, line := range report.Warnings {
				fmt.Fprintln(os.Stderr, line)
			}
			for _, line := range report.LeftOut {
				fmt.Fprintln(os.Stderr, "left out until `agentd trust`: "+line)
			}
			if err != nil {
				return err
			}
			fmt.Printf("%s: fine, %d entries\n", orNone(report.File), report.Entries)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// idleRules are the notes about rules that are about no tool, from the daemon
// if one runs.
func (s *settings) idleRules(ctx context.Context) []string {
	var notes []string
	_ = s.withDaemon(ctx, func(ctx context.Context, t target) error {
		rules, err := policyList.do(ctx, t, struct{}{})
		for _, r := range rules {
			if r.Idle {
				notes = append(notes, fmt.Sprintf("%s: %s is about no tool that there is now", cmp.Or(r.Position, r.Source), r.Pattern))
			}
		}
		return err
	}) // without a daemon, or a policy, there is nothing to note
	return notes
}

func coded(ok bool, err error) error {
	if ok {
		return nil
	}
	return &codedError{exitError, err}
}

func checkReport(doc *config.Document, err error) checked {
	r := checked{OK: err == nil}
	if err != nil {
		r.Errors = errorLines(err)
		return r
	}
	r.File = doc.File
	doc.Walk(func(*config.Entry) { r.Entries++ })
	for _, w := range doc.Warnings {
		r.Warnings = append(r.Warnings, w.String())
	}
	for _, l := range doc.LeftOut {
		r.LeftOut = append(r.LeftOut, l.String())
	}
	return r
}

func newConfigShow(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Print the merged configuration with its defaults, secrets redacted",
		Example: "  agentd config show",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			doc, err := s.loadConfig()
			if err != nil {
				return err
			}
			out, err := doc.Show()
			if err != nil {
				return err
			}
			_, err = os.Stdout.Write(out)
			return err
		},
	}
}

func newConfigSchema(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of agent.yml, for editors",
		Example: "  agentd config schema > agent.schema.json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := s.schema()
			if err != nil {
				return err
			}
			return printSchema(os.Stdout, schema)
		},
	}
}

func printSchema(w io.Writer, s *config.Schema) error {
	_, err := fmt.Fprintln(w, indentJSON(s.JSON()))
	return err
}

func orNone(file string) string {
	if file == "" {
		return "no agent.yml (defaults alone)"
	}
	return file
}

// loadConfig reads the configuration once, starting nothing.
func (s *settings) loadConfig() (*config.Document, error) {
	schema, err := s.schema()
	if err != nil {
		return nil, err
	}
	env, err := findEnvironment(s.config)
	if err != nil {
		return nil, err
	}
	return schema.Load(s.sources(env, newTrustStore(env).TrustedSum))
}
