package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
)

func newSessions(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "sessions",
		Short:   "List, show and look after conversations",
		Example: "  agentd sessions\n  agentd sessions show last\n  agentd chat --session last \"go on\"",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				list, err := sessionsList.do(ctx, t, struct{}{})
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, list, printSessions)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	list := *c
	list.Use, list.Short, list.Example = "list", "List the conversations, the last one first", "  agentd sessions list --json"
	c.AddCommand(&list, newSessionsShow(s), newSessionsFork(s), newSessionsClear(s), newSessionsPrune(s),
		newSessionsBackup(s), newSessionsCompact(s), newSessionsExport(s), newSessionsImport(s))
	return c
}

func newSessionsShow(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "show ID",
		Short:   "Show what was said and done in a conversation",
		Long:    "show prints a session as a conversation, or with --json its log of events.\nThe id last is the one that was used last.",
		Example: "  agentd sessions show last",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				session, err := sessionsShow.do(ctx, t, entryID{args[0]})
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, session, printTranscript)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newSessionsFork(s *settings) *cobra.Command {
	var in forkSession
	var asJSON bool
	c := &cobra.Command{
		Use:     "fork ID",
		Short:   "Begin a new conversation with what was said in another",
		Example: "  agentd sessions fork last\n  agentd sessions fork 20260131-091500-k3v9qdx2 --at 12",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			in.ID = args[0]
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				info, err := sessionsFork.do(ctx, t, in)
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, info, printSessionID)
			})
		},
	}
	c.Flags().Int64Var(&in.At, "at", 0, "up to and with this event (sessions show --json numbers them); default: all")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newSessionsClear(s *settings) *cobra.Command {
	var in core.ClearRequest
	var asJSON bool
	c := &cobra.Command{
		Use:   "clear ID | --all",
		Short: "Delete what a conversation holds, or all of them",
		Long: "clear deletes the messages, images, summaries and jobs of a session, or of all\n" +
			"with --all. --type narrows it: messages, images, summaries, jobs, or a plugin.",
		Example: "  agentd sessions clear last\n  agentd sessions clear --all --type images",
		Args:    wantArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if in.All == (len(args) == 1) {
				return usageError(errors.New("name a session, or say --all"))
			}
			if len(args) == 1 {
				in.Session = args[0]
			}
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				report, err := sessionsClear.do(ctx, t, in)
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, report, printCleared)
			})
		},
	}
	c.Flags().BoolVar(&in.All, "all", false, "every session")
	c.Flags().StringArrayVar(&in.Types, "type", nil, "only this kind of memory")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newSessionsPrune(s *settings) *cobra.Command {
	var age string
	var dry, asJSON bool
	c := &cobra.Command{
		Use:     "prune --older-than AGE",
		Short:   "Delete conversations that were not used for long",
		Example: "  agentd sessions prune --older-than 90d --dry-run",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			old, err := parseAge(age)
			if err != nil {
				return usageError(err)
			}
			in := pruneSessions{Before: time.Now().Add(-old), Dry: dry}
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				gone, err := sessionsPrune.do(ctx, t, in)
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, gone, func(w io.Writer, gone []core.SessionInfo) { printPruned(w, gone, dry) })
			})
		},
	}
	c.Flags().StringVar(&age, "older-than", "", "how long a session must have been unused: 90d, 12h")
	c.Flags().BoolVar(&dry, "dry-run", false, "list them, delete nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// parseAge reads a duration that may be given in days.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, errors.New("how old? --older-than 90d")
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 100_000 {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("--older-than %q: want a time above zero such as 90d or 12h", text)
}

func newSessionsBackup(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "backup FILE",
		Short:   "Copy all conversations to a file, while others go on writing",
		Example: "  agentd sessions backup agentd-backup.db",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				if _, err := sessionsBackup.do(ctx, t, backupSessions{file}); err != nil {
					return err
				}
				fmt.Println(file)
				return nil
			})
		},
	}
}

func newSessionsCompact(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "compact",
		Short:   "Give back the space of deleted conversations",
		Example: "  agentd sessions compact",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withTarget(c.Context(), func(ctx context.Context, t target) error {
				_, err := sessionsCompact.do(ctx, t, struct{}{})
				return err
			})
		},
	}
}

func newSessionsExport(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:     "export ID [FILE]",
		Short:   "Write a conversation as JSON lines, to stdout or a new file",
		Example: "  agentd sessions export last talk.jsonl",
		Args:    wantArgs(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error {
			return s.withHost(c.Context(), func(ctx context.Context, h *running) error {
				porter, err := storeAs[core.SessionPorter](h)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					return porter.Export(ctx, args[0], os.Stdout)
				}
				return exportTo(ctx, porter, args[0], args[1])
			})
		},
	}
}

// exportTo writes a session to a file that must not exist; what could not be
// written whole is not left behind.
func exportTo(ctx context.Context, porter core.SessionPorter, id, file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(porter.Export(ctx, id, f), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

func newSessionsImport(s *settings) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "import FILE",
		Short:   "Read a conversation that export wrote (- is stdin)",
		Example: "  agentd sessions import talk.jsonl",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			in := os.Stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			return s.withHost(c.Context(), func(ctx context.Context, h *running) error {
				porter, err := storeAs[core.SessionPorter](h)
				if err != nil {
					return err
				}
				info, err := porter.Import(ctx, in)
				if err != nil {
					return err
				}
				return show(os.Stdout, asJSON, info, printSessionID)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// The operations on sessions.
type (
	// sessionLog is a session with all its events.
	sessionLog struct {
		core.SessionInfo
		Log []core.SessionEvent `json:"log"`
	}
	forkSession struct {
		ID string `json:"id"`
		At int64  `json:"at,omitempty"`
	}
	pruneSessions struct {
		Before time.Time `json:"before"`
		Dry    bool      `json:"dry,omitempty"`
	}
	backupSessions struct {
		File string `json:"file"` // absolute
	}
)

// errNoMemory says what to do where sessions are not kept.
var errNoMemory = errors.New("the plugin memory does not run, so sessions end with their process: add `memory: {}` under plugins")

// sessions is the store that keeps them.
func (h *running) sessions() (core.SessionStore, error) {
	store, ok := core.Sessions.Get(h.Context)
	if !ok || !store.Durable() {
		return nil, errNoMemory
	}
	return store, nil
}

// storeAs is the store as something more than a store.
func storeAs[T any](h *running) (T, error) {
	store, err := h.sessions()
	more, ok := store.(T)
	if err == nil && !ok {
		err = errors.New("the plugin that keeps sessions cannot do this")
	}
	return more, err
}

var (
	sessionsList = operation[struct{}, []core.SessionInfo]{"sessions/list",
		func(ctx context.Context, h *running, _ struct{}) ([]core.SessionInfo, error) {
			store, err := h.sessions()
			if err != nil {
				return nil, err
			}
			return store.List(ctx)
		}}
	sessionsShow = operation[entryID, sessionLog]{"sessions/show",
		func(ctx context.Context, h *running, in entryID) (sessionLog, error) {
			store, err := h.sessions()
			if err != nil {
				return sessionLog{}, err
			}
			return readSession(ctx, store, in.ID)
		}}
	sessionsFork = operation[forkSession, core.SessionInfo]{"sessions/fork",
		func(ctx context.Context, h *running, in forkSession) (core.SessionInfo, error) {
			store, err := h.sessions()
			if err != nil {
				return core.SessionInfo{}, err
			}
			return store.Fork(ctx, in.ID, in.At)
		}}
	sessionsClear = operation[core.ClearRequest, core.ClearReport]{"sessions/clear",
		func(ctx context.Context, h *running, in core.ClearRequest) (core.ClearReport, error) {
			if _, err := h.sessions(); err != nil {
				return nil, err
			}
			return clearMemory(h.within(ctx), h, in)
		}}
	sessionsPrune = operation[pruneSessions, []core.SessionInfo]{"sessions/prune",
		func(ctx context.Context, h *running, in pruneSessions) ([]core.SessionInfo, error) {
			keeper, err := storeAs[core.SessionKeeper](h)
			if err != nil {
				return nil, err
			}
			return keeper.Prune(ctx, in.Before, in.Dry)
		}}
	sessionsBackup = operation[backupSessions, struct{}]{"sessions/backup",
		func(ctx context.Context, h *running, in backupSessions) (struct{}, error) {
			keeper, err := storeAs[core.SessionKeeper](h)
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, keeper.Backup(ctx, in.File)
		}}
	sessionsCompact = operation[struct{}, struct{}]{"sessions/compact",
		func(ctx context.Context, h *running, _ struct{}) (struct{}, error) {
			keeper, err := storeAs[core.SessionKeeper](h)
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, keeper.Compact(ctx)
		}}
)

// readSession reads a session whole; "last" is the one used last.
func readSession(ctx context.Context, store core.SessionStore, id string) (sessionLog, error) {
	infos, err := store.List(ctx)
	if err != nil {
		return sessionLog{}, err
	}
	if id == "last" && len(infos) > 0 {
		id = infos[0].ID
	}
	i := slices.IndexFunc(infos, func(info core.SessionInfo) bool { return info.ID == id })
	if i < 0 {
		return sessionLog{}, fmt.Errorf("%w: %q (agentd sessions lists them)", core.ErrSessionUnknown, id)
	}
	events, err := store.Read(ctx, id)
	return sessionLog{infos[i], events}, err
}
