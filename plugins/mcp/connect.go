package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentd-host/agentd/plugins/mcp/internal/stdio"
	"github.com/agentd-host/agentd/plugins/mcp/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The first revision of the modern era, and the last of the legacy one.
const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
)

// The eras of the configuration and of what is remembered.
const (
	eraAuto   = "auto"
	eraLegacy = "legacy"
	eraModern = "modern"
)

func eraOf(version string) string {
	if version >= modernVersion {
		return eraModern
	}
	return eraLegacy
}

// connect starts the server and agrees with it on a revision. ctx is that of
// run: the connection may last as long.
func (s *server) connect(ctx context.Context) (*session, error) {
	release, err := s.hub.startSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	era := s.cfg.Era
	if era == eraAuto {
		if known := s.recalled(); known.Era != "" {
			era = known.Era
		}
	}
	// The connection outlives this start, so it can't have its deadline.
	ctx, cancel := context.WithCancelCause(ctx)
	inTime := s.limitStart(s.cfg.StartTimeout, func() {
		cancel(&callEnd{fmt.Sprintf("not ready after %v (startTimeout)", s.cfg.StartTimeout)})
	})
	x, err := s.dial(ctx, era)
	if err != nil && s.cfg.Era == eraAuto && era != eraAuto && ctx.Err() == nil {
		x, err = s.dial(ctx, eraAuto) // what we remember may be outdated
	}
	if !inTime() && err == nil {
		x.close()
		err = context.Cause(ctx)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = fmt.Errorf("%w; last: %v", cause, err)
		}
		cancel(nil)
		return nil, err
	}
	x.onEnd = join(x.onEnd, func() { cancel(nil) })
	return x, nil
}

// limitStart calls end after d, to which the time that a person takes for a
// login does not count. The returned function stops it and tells whether it
// did so in time.
func (s *server) limitStart(d time.Duration, end func()) (inTime func() bool) {
	stopped, late, over := make(chan struct{}), false, make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTimer(d)
		defer t.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-t.C:
			}
			if !s.loggingIn() {
				late = true
				end()
				return
			}
			t.Reset(d)
		}
	}()
	return func() bool {
		close(stopped)
		<-over
		return !late
	}
}

// loggingIn tells whether a person is asked to log in.
func (s *server) loggingIn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loginURL != ""
}

func join(fs ...func()) func() {
	return func() {
		for _, f := range fs {
			if f != nil {
				f()
			}
		}
	}
}

func (s *server) dial(ctx context.Context, era string) (*session, error) {
	if s.cfg.Command != "" {
		return s.dialStdio(ctx, era)
	}
	return s.dialHTTP(ctx, era)
}

// dialStdio runs the program. In era auto a first process is asked for what
// the modern era calls discovery. If it does not know it, it may be in any
// state, so a fresh one gets the handshake of the legacy era.
func (s *server) dialStdio(ctx context.Context, era string) (*session, error) {
	conn, err := s.start()
	if err != nil {
		return nil, err
	}
	silent := false
	if era == eraAuto {
		era, silent = s.discover(ctx, conn)
		if era == eraLegacy {
			_ = conn.Close()
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			if conn, err = s.start(); err != nil {
				return nil, err
			}
		}
	}
	began := time.Now()
	x, shared := s.newSession(), wire.NewConn(conn)
	x.proc, shared.Heard = conn, x.heard
	err = x.handshake(ctx, given{shared}, versionOf(era))
	if err == nil && era == eraModern && eraOf(x.version()) != eraModern {
		x.close()
		err = fmt.Errorf("the server speaks %s, and era is modern", x.version())
	}
	if err != nil {
		err = howItEnded(conn, err)
		_ = conn.Close()
		return nil, err
	}
	if eraOf(x.version()) == eraLegacy {
		x.direct = shared
	}
	x.unsure = silent && time.Since(began) >= s.hub.probe
	return x, nil
}

func versionOf(era string) string {
	if era == eraModern {
		return modernVersion
	}
	return legacyVersion
}

func (s *server) start() (*stdio.Conn, error) {
	return stdio.Start(s.cfg.command(),
		&stdio.Options{Guard: s.hub.guard, Redact: s.redact, Logger: s.log, Grace: s.hub.grace})
}

// howItEnded says why a handshake failed. That the pipe broke is often only
// how the end of the process shows, which says more, with its stderr. A
// process that ended because we hung up explains nothing.
func howItEnded(conn *stdio.Conn, err error) error {
	broken := errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, io.EOF)
	if !conn.EndedItself() && !broken {
		return err
	}
	select {
	case <-conn.Done():
		return conn.Exit()
	default:
		return err
	}
}

// given is a transport of a connection that is there already.
type given struct{ conn mcp.Connection }

func (g given) Connect(context.Context) (mcp.Connection, error) { return g.conn, nil }

// discover asks, below the SDK, which era the server is of. silent: it did not
// say so in time.
func (s *server) discover(ctx context.Context, conn *stdio.Conn) (era string, silent bool) {
	id, err := jsonrpc.MakeID("agentd-discover")
	if err != nil {
		return eraLegacy, false
	}
	params, err := json.Marshal(map[string]any{"_meta": map[string]any{
		mcp.MetaKeyProtocolVersion:    modernVersion,
		mcp.MetaKeyClientInfo:         implementation,
		mcp.MetaKeyClientCapabilities: map[string]any{},
	}})
	if err != nil || conn.Write(ctx, &jsonrpc.Request{ID: id, Method: "server/discover", Params: params}) != nil {
		return eraLegacy, false
	}
	answer := make(chan *jsonrpc.Response, 1)
	go func() { answer <- awaitAnswer(ctx, conn, id) }()
	t := time.NewTimer(s.hub.probe)
	defer t.Stop()
	select {
	case res := <-answer:
		if res != nil && isModern(res) {
			return eraModern, false
		}
		return eraLegacy, false
	case <-t.C:
	case <-ctx.Done():
	}
	_ = conn.Close() // which ends the reader, too
	<-answer
	return eraLegacy, true
}

func awaitAnswer(ctx context.Context, conn *stdio.Conn, id jsonrpc.ID) *jsonrpc.Response {
	for {
		msg, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		if res, ok := msg.(*jsonrpc.Response); ok && res.ID == id {
			return res
		}
	}
}

// isModern tells whether an answer to server/discover names a revision of the
// modern era, as a result or as what it has instead of ours.
func isModern(res *jsonrpc.Response) bool {
	var r struct {
		Versions  []string `json:"supportedVersions"`
		Supported []string `json:"supported"`
	}
	raw := res.Result
	var rpc *jsonrpc.Error
	if errors.As(res.Error, &rpc) {
		raw = rpc.Data
	}
	if json.Unmarshal(raw, &r) != nil {
		return false
	}
	return slices.ContainsFunc(append(r.Versions, r.Supported...), func(v string) bool { return eraOf(v) == eraModern })
}

// maxMessage bounds a message from a server over HTTP.
const maxMessage = 64 << 20

func (s *server) dialHTTP(ctx context.Context, era string) (*session, error) {
	origin, err := url.Parse(s.cfg.URL)
	if err != nil {
		return nil, err
	}
	allow, err := newAllowList(s.cfg.Allow)
	if err != nil {
		return nil, err
	}
	allow.name(origin.Hostname())
	hc, base := newHTTPClient(allow, origin, s.cfg.Headers)
	done := base.CloseIdleConnections
	if s.cfg.Type == "sse" {
		t := &mcp.SSEClientTransport{Endpoint: s.cfg.URL, HTTPClient: hc, MaxEventSize: maxMessage}
		return s.handshakeHTTP(ctx, wire.Transport(t), legacyVersion, done)
	}
	plain := *hc
	hc.Transport = wire.RoundTripper(hc.Transport, maxMessage, s.authorizer(&plain) != nil)
	transport := func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: hc, MaxEventSize: maxMessage, OAuthHandler: s.authorizer(&plain)}
	}
	if era != eraAuto {
		return s.handshakeHTTP(ctx, transport(), versionOf(era), done)
	}
	// The SDK discovers by itself, and falls back; a server that hangs over
	// the unknown request is met once more in the way that it knows.
	probe, cancel := context.WithCancel(ctx)
	inTime := s.limitStart(4*s.hub.probe, cancel)
	x, err := s.handshakeHTTP(probe, transport(), modernVersion, done)
	if inTime() || ctx.Err() != nil {
		if err != nil {
			cancel()
			return nil, err
		}
		x.onEnd = join(x.onEnd, cancel)
		return x, nil
	}
	cancel()
	if err == nil {
		x.close() // it came just as we gave up
	}
	return s.handshakeHTTP(ctx, transport(), legacyVersion, done)
}

// authorizer is what gets tokens for the server, nil if the configuration
// says all that there is to say. It is the same for all connections.
func (s *server) authorizer(hc *http.Client) auth.OAuthHandler {
	for name := range s.cfg.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil
		}
	}
	if s.login == nil {
		s.login = newLogin(s)
	}
	s.login.setClient(hc)
	return s.login
}

func (s *server) handshakeHTTP(ctx context.Context, t mcp.Transport, version string, done func()) (*session, error) {
	x := s.newSession()
	if err := x.handshake(ctx, t, version); err != nil {
		done()
		return nil, err
	}
	x.onEnd = done
	return x, nil
}

var implementation = &mcp.Implementation{Name: "agentd", Title: "agentd", Version: version}

// handshake makes a connection the session's.
func (x *session) handshake(ctx context.Context, t mcp.Transport, version string) error {
	client := mcp.NewClient(implementation, x.clientOptions())
	client.AddReceivingMiddleware(x.receive)
	client.AddRoots(x.server.hub.roots()...)
	cs, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	x.cs = cs
	go x.watch()
	return nil
}

// version is the revision that was agreed on.
func (x *session) version() string {
	if r := x.cs.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}
