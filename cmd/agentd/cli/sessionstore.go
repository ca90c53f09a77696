package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentd-host/agentd/core"
)

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

// onStore is the body of an operation on the store that keeps sessions, as T.
func onStore[T, In, Out any](f func(ctx context.Context, store T, in In) (Out, error)) func(context.Context, *running, In) (Out, error) {
	return func(ctx context.Context, h *running, in In) (Out, error) {
		store, err := storeAs[T](h)
		if err != nil {
			var none Out
			return none, err
		}
		return f(ctx, store, in)
	}
}

var (
	sessionsList = operation[struct{}, []core.SessionInfo]{"sessions/list", onStore(
		func(ctx context.Context, store core.SessionStore, _ struct{}) ([]core.SessionInfo, error) {
			return store.List(ctx)
		})}
	sessionsShow = operation[entryID, sessionLog]{"sessions/show", onStore(readSession)}
	sessionsFork = operation[forkSession, core.SessionInfo]{"sessions/fork", onStore(
		func(ctx context.Context, store core.SessionStore, in forkSession) (core.SessionInfo, error) {
			return store.Fork(ctx, in.ID, in.At)
		})}
	sessionsClear = operation[core.ClearRequest, core.ClearReport]{"sessions/clear",
		func(ctx context.Context, h *running, in core.ClearRequest) (core.ClearReport, error) {
			if _, err := h.sessions(); err != nil {
				return nil, err
			}
			return clearMemory(h.within(ctx), h, in)
		}}
	sessionsPrune = operation[pruneSessions, []core.SessionInfo]{"sessions/prune", onStore(
		func(ctx context.Context, keeper core.SessionKeeper, in pruneSessions) ([]core.SessionInfo, error) {
			return keeper.Prune(ctx, in.Before, in.Dry)
		})}
	sessionsBackup = operation[backupSessions, struct{}]{"sessions/backup", onStore(
		func(ctx context.Context, keeper core.SessionKeeper, in backupSessions) (struct{}, error) {
			return struct{}{}, keeper.Backup(ctx, in.File)
		})}
	sessionsCompact = operation[struct{}, struct{}]{"sessions/compact", onStore(
		func(ctx context.Context, keeper core.SessionKeeper, _ struct{}) (struct{}, error) {
			return struct{}{}, keeper.Compact(ctx)
		})}
)

// readSession reads a session whole; "last" is the one used last.
func readSession(ctx context.Context, store core.SessionStore, in entryID) (sessionLog, error) {
	id := in.ID
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
