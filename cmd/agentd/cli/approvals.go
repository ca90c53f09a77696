package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newApprovals(s *settings) *cobra.Command {
	return group(&cobra.Command{
		Use:     "approvals",
		Short:   "List and answer the questions of the running daemon",
		Example: "  agentd approvals list\n  agentd approvals answer 4f2c once",
	}, newApprovalsList(s), newApprovalsAnswer(s))
}

func newApprovalsList(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the questions that wait",
		Example: "  agentd approvals list --json",
		Args:    noArgs,
	}
	session := c.Flags().String("session", "", "only those of this session")
	full := c.Flags().Bool("full", false, "show long arguments whole")
	in := func([]string) (pendingApprovals, error) { return pendingApprovals{*session}, nil }
	return approvalsList.command(s.withDaemon, c, in, func(w io.Writer, open []core.Approval) { printApprovals(w, open, *full) })
}

func newApprovalsAnswer(s *settings) *cobra.Command {
	in := func(args []string) (answerApproval, error) {
		return answerApproval{ID: args[0], Line: strings.Join(args[1:], " "), By: userName() + " by agentd approvals"}, nil
	}
	return approvalsAnswer.order(s.withDaemon, &cobra.Command{
		Use:   "answer ID ANSWER [WORDS]",
		Short: "Answer a question; words after the answer go to the model",
		Long: "answer settles one question: once, turn, session, always, reject, never or\n" +
			"stop, as far as the question takes it.",
		Example: "  agentd approvals answer 4f2c once\n  agentd approvals answer 4f2c reject use the test folder",
		Args:    wantArgs(cobra.MinimumNArgs(2)),
	}, in, func(w io.Writer, in answerApproval) { fmt.Fprintln(w, "answered "+in.ID) })
}

// pendingApprovals asks for the questions of one session, or of all.
type pendingApprovals struct {
	Session string `json:"session,omitempty"`
}

// answerApproval is an answer as it was typed.
type answerApproval struct {
	ID   string `json:"id"`
	Line string `json:"line"`
	By   string `json:"by"`
}

// The operations on questions.
var (
	approvalsList = operation[pendingApprovals, []core.Approval]{"approvals/list",
		func(_ context.Context, h *running, in pendingApprovals) ([]core.Approval, error) {
			broker, ok := core.Approvals.Get(h.Context)
			if !ok {
				return nil, errNoPolicy
			}
			return broker.Pending(in.Session), nil
		}}
	approvalsAnswer = operation[answerApproval, struct{}]{"approvals/answer",
		func(_ context.Context, h *running, in answerApproval) (struct{}, error) {
			var none struct{}
			broker, ok := core.Approvals.Get(h.Context)
			if !ok {
				return none, errNoPolicy
			}
			q, ok := find(broker.Pending(""), in.ID, func(a core.Approval) string { return a.ID })
			if !ok {
				return none, fmt.Errorf("%s: %w (agentd approvals list shows those that are)", in.ID, core.ErrApprovalUnknown)
			}
			answer, err := toolpolicy.ParseAnswer(in.Line, q)
			if err != nil {
				return none, usageError(err)
			}
			answer.By = in.By
			return none, broker.Answer(q.ID, q.Digest, answer)
		}}
)

func printApprovals(w io.Writer, open []core.Approval, full bool) {
	if len(open) == 0 {
		fmt.Fprintln(w, "no questions wait")
		return
	}
	more := "--full shows everything"
	if full {
		more = ""
	}
	for _, a := range open {
		when := "waits for its turn to be asked"
		if !a.Expires.IsZero() {
			when = "expires in " + time.Until(a.Expires).Truncate(time.Second).String()
		}
		fmt.Fprintf(w, "%s  %s\n%s%s\n", a.ID, when, toolpolicy.ShowApproval(a, more), toolpolicy.AnswerWords(a))
	}
}
