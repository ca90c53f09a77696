package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/internal/statefile"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The limits of the listener.
const (
	maxBody        = 16 << 20
	maxHeader      = 64 << 10
	sessionTimeout = 30 * time.Minute
	lastWords      = 3 * time.Second // for requests under way at the end
)

// serveHTTP listens until ctx ends.
func (g *gateway) serveHTTP(ctx context.Context, o ServeOptions) error {
	if err := o.CheckListen(); err != nil {
		return err
	}
	token := o.Token
	if token == "" {
		var err error
		if token, err = g.token(); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", o.HTTP)
	if err != nil {
		return err
	}
	d := &door{token: token, hosts: hostNames(l.Addr(), o), origins: o.Origins, next: g.router()}
	srv := &http.Server{
		Handler: d, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog:    slog.NewLogLogger(g.c.Logger().Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if m := g.mount(""); m != nil {
		m.sync()
	}
	scheme := "http"
	if o.CertFile != "" {
		scheme = "https"
	}
	if o.Ready != nil {
		o.Ready(fmt.Sprintf("%s://%s/mcp", scheme, l.Addr()))
	}
	ended := make(chan error, 1)
	go func() {
		if o.CertFile != "" {
			ended <- srv.ServeTLS(l, o.CertFile, o.KeyFile)
			return
		}
		ended <- srv.Serve(l)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	g.close() // which ends the streams that clients hold open
	hangUp(ctx, srv)
	<-ended
	return nil
}

// CheckListen refuses an address that others could reach without TLS. [Serve]
// does so too; a program asks before it starts a host for it.
func (o ServeOptions) CheckListen() error {
	host, _, err := net.SplitHostPort(o.HTTP)
	if err != nil {
		return fmt.Errorf("--http %s: want an address such as 127.0.0.1:8080", o.HTTP)
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return errors.New("TLS wants both a certificate and its key")
	}
	ip, err := netip.ParseAddr(host)
	loopback := host == "localhost" || (err == nil && ip.IsLoopback())
	if !loopback && o.CertFile == "" {
		return fmt.Errorf("--http %s: others could reach that without TLS; listen on 127.0.0.1, or give a certificate and its key", o.HTTP)
	}
	return nil
}

// token reads the token of the state folder, or makes it.
func (g *gateway) token() (string, error) {
	paths, ok := core.Environment.Get(g.c)
	if !ok || paths.State == "" {
		return rand.Text(), nil
	}
	token := ""
	err := statefile.Update(filepath.Join(paths.State, "mcp", "token"), func(old []byte) ([]byte, error) {
		token = strings.TrimSpace(string(old))
		if len(token) < minToken {
			token = rand.Text()
		}
		return []byte(token + "\n"), nil
	})
	return token, err
}

// minToken is how long a token is at least: 128 bits in base 64.
const minToken = 22

// hostNames are the names by which clients may address us.
func hostNames(addr net.Addr, o ServeOptions) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(addr.String()); err == nil {
		names = append(names, host)
	}
	return append(names, o.Hosts...)
}

// A door lets requests in or turns them away, before anything looks at them.
type door struct {
	token   string
	hosts   []string
	origins []string
	next    http.Handler
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, done := pace(w, r)
	defer done()
	status, why := d.check(r)
	if status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="agentd"`)
		}
		http.Error(w, why, status)
		return
	}
	// The token was for us: nothing behind the door needs to see it.
	r.Header.Del("Authorization")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	d.next.ServeHTTP(p, r)
}

// check gives the status to refuse a request with, 0 to let it in.
func (d *door) check(r *http.Request) (int, string) {
	if !slices.ContainsFunc(d.hosts, func(h string) bool { return strings.EqualFold(h, hostOf(r.Host)) }) {
		return http.StatusForbidden, fmt.Sprintf("not served under the name %q", printable(r.Host))
	}
	origin := r.Header.Get("Origin")
	// A page of ours would be one that we serve; the host was checked above.
	named := slices.Contains(d.origins, origin) || origin == "http://"+r.Host || origin == "https://"+r.Host
	if len(r.Header.Values("Origin")) > 0 && !named && !d.local(origin) {
		return http.StatusForbidden, fmt.Sprintf("not for the origin %q", printable(origin))
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	case "same-site": // other ports of this machine are, whose pages need the token
		if !named && !d.local(origin) {
			return http.StatusForbidden, "not for other sites"
		}
	default:
		if !named {
			return http.StatusForbidden, "not for other sites"
		}
	}
	if r.Header.Get("Sec-Fetch-Mode") == "no-cors" {
		return http.StatusForbidden, "not for requests in no-cors mode"
	}
	if loopback(r.RemoteAddr) && !forwarded(r.Header) && (origin == "" || named) && r.TLS == nil {
		return 0, ""
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || !equalSecret(given, d.token) {
		return http.StatusUnauthorized, "a bearer token is needed"
	}
	return 0, ""
}

// local tells whether an origin is a page of this machine, which may knock
// with the token.
func (d *door) local(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func loopback(remote string) bool {
	ip, err := netip.ParseAddr(hostOf(remote))
	return err == nil && ip.Unmap().IsLoopback()
}

// forwarded tells whether a proxy passed the request on: then it is not the
// caller who is on this machine.
func forwarded(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(h.Values(name)) > 0 {
			return true
		}
	}
	return false
}

// equalSecret compares in a time that tells nothing, not even the length.
func equalSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// router serves the mounts, each in both eras at one URL.
func (g *gateway) router() http.Handler {
	find := func(r *http.Request) *mount {
		m := g.mount(r.PathValue("name"))
		if m == nil {
			return nil
		}
		m.mu.Lock()
		synced := m.synced
		m.mu.Unlock()
		if !synced {
			m.sync()
		}
		return m
	}
	pick := func(r *http.Request) *mcp.Server {
		if m := find(r); m != nil {
			return m.server
		}
		return nil
	}
	quiet := slog.New(slog.DiscardHandler)
	legacy := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{
		Logger: quiet, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
	})
	modern := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{
		Logger: quiet, Stateless: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
		PropagateRequestCancellation: true,
	})
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, id := find(r), r.Header.Get("Mcp-Session-Id")
		switch {
		case m == nil:
			http.Error(w, "there is no such MCP server", http.StatusNotFound)
		case speaksModern(r):
			modern.ServeHTTP(w, r)
		case id != "" && m.seats.of(id) == nil: // the SDK knows those of other mounts, too
			http.Error(w, "there is no such session here", http.StatusNotFound)
		case r.Method == http.MethodGet:
			defer m.seats.listens(id)()
			legacy.ServeHTTP(w, r)
		case !m.express(w, r):
			legacy.ServeHTTP(w, r)
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", serve)
	mux.Handle("/mcp/servers/{name}", serve)
	return mux
}

// speaksModern tells the era of a request: by its header, or, where the
// header is missing, by what the message says.
func speaksModern(r *http.Request) bool {
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" {
		return eraOf(v) == eraModern
	}
	if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "" {
		return false
	}
	body := peek(r)
	if !bytes.Contains(body, []byte(mcp.MetaKeyProtocolVersion)) {
		return false
	}
	var m struct {
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return false
	}
	v, _ := m.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return eraOf(v) == eraModern
}

// failing is a reader that has only an error to give.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
