package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/plugins/toolpolicy"
	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
)

func newAudit(s *settings) *cobra.Command {
	return group(&cobra.Command{
		Use:     "audit",
		Short:   "Read and verify the record of tool calls",
		Example: "  agentd audit tail -n 20\n  agentd audit verify",
	}, newAuditTail(s), newAuditVerify(s))
}

func newAuditTail(s *settings) *cobra.Command {
	var asJSON bool
	var n int
	c := &cobra.Command{
		Use:     "tail",
		Short:   "Print the last records",
		Example: "  agentd audit tail -n 20 --json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if n < 1 {
				return usageError(fmt.Errorf("-n %d: want one record or more", n))
			}
			return s.withAuditFile(c.Context(), func(path string) error {
				records, err := audit.Tail(path, n)
				if err != nil {
					return err
				}
				if asJSON {
					return printRecordLines(os.Stdout, records)
				}
				return show(os.Stdout, false, records, printRecords)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one record a line")
	c.Flags().IntVarP(&n, "number", "n", 20, "how many records")
	return c
}

func newAuditVerify(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that no record was changed, added or removed",
		Long: "verify checks the chain of the record over all of its files. Rotated files may\n" +
			"be taken away, oldest first; it says which records are gone with them. What is\n" +
			"cut off at the end shows in the last line's hash alone, if that was noted.",
		Example: "  agentd audit verify",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withAuditFile(c.Context(), func(path string) error {
				report, err := audit.Verify(path)
				if asJSON {
					if perr := printJSON(os.Stdout, report); perr != nil {
						return perr
					}
				} else if err == nil {
					printReport(os.Stdout, report)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printReport(w io.Writer, r audit.Report) {
	fmt.Fprintf(w, "%d records, %d to %d, in order\n", r.Records, r.First, r.Last)
	if r.First > 1 {
		fmt.Fprintf(w, "1 to %d were in rotated files that are not here any more\n", r.First-1)
	}
	fmt.Fprintf(w, "last line's hash %s\n", r.Head)
}

// withAuditFile finds the log that the configuration names.
func (s *settings) withAuditFile(ctx context.Context, f func(path string) error) error {
	return s.withTarget(ctx, func(ctx context.Context, t target) error {
		path, err := auditFile.do(ctx, t, struct{}{})
		if err != nil {
			return err
		}
		return f(path)
	})
}

var auditFile = operation[struct{}, string]{"audit/file", asAdmin(
	func(admin *toolpolicy.Admin, _ struct{}) (string, error) { return admin.AuditFile(), nil })}

func printRecordLines(w io.Writer, records []audit.Record) error {
	enc := json.NewEncoder(w)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func printRecords(w io.Writer, records []audit.Record) {
	if len(records) == 0 {
		fmt.Fprintln(w, "no records")
		return
	}
	rows := make([][]string, len(records))
	for i, r := range records {
		rows[i] = []string{
			fmt.Sprint(r.Seq), r.Time.Local().Format("01-02 15:04:05"), string(r.Kind), r.Tool,
			cmp.Or(r.Decision, r.Outcome), r.Rule, r.Approver,
		}
	}
	table(w, []string{"SEQ", "TIME", "KIND", "TOOL", "RESULT", "RULE", "BY"}, rows)
}
