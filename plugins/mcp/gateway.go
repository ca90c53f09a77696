package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/agentd-host/agentd/core"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeOptions says how [Serve] meets its clients.
type ServeOptions struct {
	// HTTP is the address to listen on; empty serves one client on In and
	// Out.
	HTTP string
	// Server serves one MCP server transparently on In and Out instead of
	// the merged view.
	Server string
	// In and Out are where the client is. The default is stdin and stdout.
	In  io.ReadCloser
	Out io.WriteCloser

	// Token is what clients over HTTP must present. Empty: the one in the
	// state folder, which is made the first time.
	Token string
	// Hosts are further names under which clients may address us; Origins
	// are web origins that may call, and are trusted like local programs.
	Hosts, Origins []string
	// CertFile and KeyFile serve TLS, without which only loopback addresses
	// are listened on.
	CertFile, KeyFile string
	// Ready, if set, is told the base URL once clients can connect.
	Ready func(url string)
}

// Serve gives the tools of c's host to MCP clients, as the configuration and
// policy allow them, until ctx ends or, without HTTP, the client leaves. The
// servers below plugin mcp are also there one by one: over HTTP at
// /mcp/servers/<name>, beside the merged view at /mcp.
//
// The host must be loaded. Serve may be called more than once.
func Serve(ctx context.Context, c *core.Context, o ServeOptions) error {
	result := make(chan error, 1)
	p := core.Plugin[struct{}]{
		Name: "mcp:gateway", Title: "MCP gateway",
		Needs: core.Needs(core.MCP.Optional(), core.Approvals.Optional(), core.Environment.Optional()),
		Apply: func(c *core.Context, _ struct{}) error {
			g, err := newGateway(c)
			if err != nil {
				return err
			}
			return c.Go("serve", func(ctx context.Context) error {
				result <- g.serve(ctx, o)
				return nil
			})
		},
	}
	f, err := core.Load(c, p, struct{}{})
	if err != nil {
		return err
	}
	end := context.WithoutCancel(ctx)
	if err := f.Ready(ctx); err != nil {
		return errors.Join(err, f.Dispose(end))
	}
	select {
	case err = <-result:
	case <-ctx.Done():
	}
	return errors.Join(err, f.Dispose(end))
}

// A gateway is one Serve.
type gateway struct {
	c       *core.Context
	hub     *hub // nil without the plugin: there are no servers
	parking *parking

	mu     sync.Mutex           // guards the fields below
	mounts map[string]*mount    // nil once closed
	calls  map[string][]*client // under way, by session
	serial int
}

func newGateway(c *core.Context) (*gateway, error) {
	g := &gateway{c: c, parking: &parking{jobs: map[string]*job{}}, mounts: map[string]*mount{}, calls: map[string][]*client{}}
	if provided, ok := core.MCP.Get(c); ok {
		if s, mine := provided.(*service); mine {
			g.hub = s.hub
		}
	}
	err := errors.Join(
		c.OnDispose(func() error { g.close(); return nil }),
		core.ToolsChanged.On(c, func(context.Context, core.ToolChange) error { g.sync(); return nil }),
		core.PromptsChanged.On(c, func(context.Context, struct{}) error {
			return g.told("notifications/prompts/list_changed", nil)
		}),
		core.ResourcesChanged.On(c, func(context.Context, struct{}) error {
			return g.told("notifications/resources/list_changed", nil)
		}),
		core.ResourceUpdated.On(c, func(_ context.Context, uri string) error {
			return g.told("notifications/resources/updated", encode(&mcp.ResourceUpdatedNotificationParams{URI: uri}))
		}),
	)
	if broker, ok := core.Approvals.Get(c); ok {
		err = errors.Join(err, broker.AddAsker(c, asker{g}))
	}
	if g.hub != nil {
		stop := g.hub.watch(&watcher{g.changed})
		err = errors.Join(err, c.OnDispose(func() error { stop(); return nil }))
	}
	return g, err
}

// close ends all sessions and what they had under way.
func (g *gateway) close() {
	g.mu.Lock()
	mounts := g.mounts
	g.mounts = nil
	g.mu.Unlock()
	g.parking.close()
	for _, m := range mounts {
		m.close()
	}
}

// mount gives the view of one server, or the merged one for the empty name;
// nil if there is no such server or the gateway is closed.
func (g *gateway) mount(name string) *mount {
	if name != "" {
		if _, ok := g.projection(name); !ok {
			g.mu.Lock()
			gone := g.mounts[name]
			delete(g.mounts, name)
			g.mu.Unlock()
			if gone != nil {
				gone.close()
			}
			return nil
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.mounts[name]
	if m == nil && g.mounts != nil {
		m = newMount(g, name)
		g.mounts[name] = m
	}
	return m
}

func (g *gateway) projection(name string) (*projection, bool) {
	if g.hub == nil {
		return nil, false
	}
	return g.hub.find(name)
}

// sync brings every mount to the tools that there are now.
func (g *gateway) sync() {
	g.mu.Lock()
	mounts := make([]*mount, 0, len(g.mounts))
	for _, m := range g.mounts {
		mounts = append(mounts, m)
	}
	g.mu.Unlock()
	for _, m := range mounts {
		m.sync()
	}
}

// changed passes on what a server says beside calls.
func (g *gateway) changed(server, method string, params []byte) {
	g.mu.Lock()
	mounts := []*mount{g.mounts[server], g.mounts[""]}
	g.mu.Unlock()
	for _, m := range mounts {
		if m != nil {
			m.changed(server, method, params)
		}
	}
}

// told passes on what a plugin of ours says to the merged view.
func (g *gateway) told(method string, params []byte) error {
	g.mu.Lock()
	m := g.mounts[""]
	g.mu.Unlock()
	if m != nil {
		m.changed("", method, params)
	}
	return nil
}

// enter notes that a client's call is under way, for questions of its session.
func (g *gateway) enter(c *client) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[c.name] = append(g.calls[c.name], c)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		rest := slices.DeleteFunc(slices.Clone(g.calls[c.name]), func(d *client) bool { return d == c })
		if g.calls[c.name] = rest; len(rest) == 0 {
			delete(g.calls, c.name)
		}
	}
}

func (g *gateway) callOf(session string) *client {
	g.mu.Lock()
	defer g.mu.Unlock()
	if calls := g.calls[session]; len(calls) > 0 {
		return calls[len(calls)-1]
	}
	return nil
}

// sessionName names a client's session for viewers. Calls of the modern era
// have none, each is by itself.
func (g *gateway) sessionName(ss *mcp.ServerSession, modern bool) string {
	if id := ss.ID(); id != "" && !modern {
		return "mcp:" + id
	}
	if !modern {
		return fmt.Sprintf("mcp:%p", ss)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serial++
	return fmt.Sprintf("mcp:call-%d", g.serial)
}

func (g *gateway) serve(ctx context.Context, o ServeOptions) error {
	if o.HTTP != "" {
		return g.serveHTTP(ctx, o)
	}
	m := g.mount(o.Server)
	if m == nil {
		return fmt.Errorf("there is no MCP server %q in the configuration", o.Server)
	}
	m.sync()
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Ready != nil {
		o.Ready("stdio")
	}
	err := m.server.Run(ctx, &mcp.IOTransport{Reader: o.In, Writer: o.Out, MaxLineLength: maxMessage})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
