package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

func newSessions(s *settings) *cobra.Command {
	c := sessionsList.command(s.withTarget, &cobra.Command{
		Use:     "sessions",
		Short:   "List, show and look after conversations",
		Example: "  agentd sessions\n  agentd sessions show last\n  agentd chat --session last \"go on\"",
		Args:    noArgs,
	}, noInput, printSessions)
	return listing(c, "List the conversations, the last one first",
		newSessionsShow(s), newSessionsFork(s), newSessionsClear(s), newSessionsPrune(s),
		newSessionsBackup(s), newSessionsCompact(s), newSessionsExport(s), newSessionsImport(s))
}

func newSessionsShow(s *settings) *cobra.Command {
	return sessionsShow.command(s.withTarget, &cobra.Command{
		Use:     "show ID",
		Short:   "Show what was said and done in a conversation",
		Long:    "show prints a session as a conversation, or with --json its log of events.\nThe id last is the one that was used last.",
		Example: "  agentd sessions show last",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}, theEntry, printTranscript)
}

func newSessionsFork(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "fork ID",
		Short:   "Begin a new conversation with what was said in another",
		Example: "  agentd sessions fork last\n  agentd sessions fork 20260131-091500-k3v9qdx2 --at 12",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}
	at := c.Flags().Int64("at", 0, "up to and with this event (sessions show --json numbers them); default: all")
	in := func(args []string) (forkSession, error) { return forkSession{args[0], *at}, nil }
	return sessionsFork.command(s.withTarget, c, in, printSessionID)
}

func newSessionsClear(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:   "clear ID | --all",
		Short: "Delete what a conversation holds, or all of them",
		Long: "clear deletes the messages, images, summaries and jobs of a session, or of all\n" +
			"with --all. --type narrows it: messages, images, summaries, jobs, or a plugin.",
		Example: "  agentd sessions clear last\n  agentd sessions clear --all --type images",
		Args:    wantArgs(cobra.MaximumNArgs(1)),
	}
	var in core.ClearRequest
	c.Flags().BoolVar(&in.All, "all", false, "every session")
	c.Flags().StringArrayVar(&in.Types, "type", nil, "only this kind of memory")
	return sessionsClear.command(s.withTarget, c, func(args []string) (core.ClearRequest, error) {
		if in.All == (len(args) == 1) {
			return in, usageError(errors.New("name a session, or say --all"))
		}
		if len(args) == 1 {
			in.Session = args[0]
		}
		return in, nil
	}, printCleared)
}

func newSessionsPrune(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use:     "prune --older-than AGE",
		Short:   "Delete conversations that were not used for long",
		Example: "  agentd sessions prune --older-than 90d --dry-run",
		Args:    noArgs,
	}
	age := c.Flags().String("older-than", "", "how long a session must have been unused: 90d, 12h")
	dry := c.Flags().Bool("dry-run", false, "list them, delete nothing")
	return sessionsPrune.command(s.withTarget, c, func([]string) (pruneSessions, error) {
		old, err := parseAge(*age)
		return pruneSessions{Before: time.Now().Add(-old), Dry: *dry}, err
	}, func(w io.Writer, gone []core.SessionInfo) { printPruned(w, gone, *dry) })
}

// parseAge reads a duration that may be given in days.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, usageError(errors.New("how old? --older-than 90d"))
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 100_000 {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, usageError(fmt.Errorf("--older-than %q: want a time above zero such as 90d or 12h", text))
}

func newSessionsBackup(s *settings) *cobra.Command {
	return sessionsBackup.order(s.withTarget, &cobra.Command{
		Use:     "backup FILE",
		Short:   "Copy all conversations to a file, while others go on writing",
		Example: "  agentd sessions backup agentd-backup.db",
		Args:    wantArgs(cobra.ExactArgs(1)),
	}, func(args []string) (backupSessions, error) {
		file, err := filepath.Abs(args[0])
		return backupSessions{file}, err
	}, func(w io.Writer, in backupSessions) { fmt.Fprintln(w, in.File) })
}

func newSessionsCompact(s *settings) *cobra.Command {
	return sessionsCompact.order(s.withTarget, &cobra.Command{
		Use:     "compact",
		Short:   "Give back the space of deleted conversations",
		Example: "  agentd sessions compact",
		Args:    noArgs,
	}, noInput, func(io.Writer, struct{}) {})
}
