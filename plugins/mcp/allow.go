package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An allowList says which hosts that are not on the public internet a server
// may lead us to.
type allowList struct {
	hosts    map[string]bool
	prefixes []netip.Prefix
}

func newAllowList(entries []string) (*allowList, error) {
	a := &allowList{hosts: map[string]bool{}}
	for _, e := range entries {
		e = strings.ToLower(strings.TrimSpace(e))
		if p, err := netip.ParsePrefix(e); err == nil {
			a.prefixes = append(a.prefixes, p.Masked())
			continue
		}
		if ip, err := netip.ParseAddr(e); err == nil {
			a.prefixes = append(a.prefixes, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
			continue
		}
		if e == "" || strings.ContainsAny(e, "/:@ ") {
			return nil, fmt.Errorf("allow: %q is neither a host nor an address nor a network", e)
		}
		a.hosts[e] = true
	}
	return a, nil
}

// name adds the host of the server's own address: where it is a loopback
// address or a literal one, writing it down was naming it.
func (a *allowList) name(host string) {
	host = strings.ToLower(host)
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		a.prefixes = append(a.prefixes, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
		return
	}
	if host == "localhost" {
		a.hosts[host] = true
	}
}

// permits tells whether host may be dialed at ip.
func (a *allowList) permits(host string, ip netip.Addr) bool {
	ip = ip.Unmap()
	if a.hosts[strings.ToLower(host)] {
		return true
	}
	for _, p := range a.prefixes {
		if p.Contains(ip) {
			return true
		}
	}
	return public(ip)
}

// special are ranges that net/netip has no question for.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), // these carry IPv4 addresses
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("fec0::/10"),
}

func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.Zone() != "" {
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// plain tells whether a host may be asked without TLS.
func (a *allowList) plain(host string) bool {
	if a.hosts[strings.ToLower(host)] {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	for _, p := range a.prefixes {
		if p.Contains(ip.Unmap()) {
			return true
		}
	}
	return ip.IsLoopback()
}

// errRefusedAddress is matched by errors of addresses that are not allowed.
var errRefusedAddress = errors.New("not allowed: name it under allow in the server's configuration")

// checkURL refuses what may not even be looked up.
func (a *allowList) checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%s: want http or https", u.Scheme)
	case u.Scheme == "http" && !a.plain(u.Hostname()):
		return fmt.Errorf("http to %s: %w", u.Hostname(), errRefusedAddress)
	}
	// A proxy would look the rest up for us; literal addresses we know.
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !a.permits(u.Hostname(), ip) {
		return fmt.Errorf("%s: %w", u.Hostname(), errRefusedAddress)
	}
	return nil
}

// A resolver looks hosts up; *net.Resolver is one.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialer resolves a name once, checks what it resolved to, and dials exactly
// that, so that a name which changes its mind gains nothing.
type dialer struct {
	allow   *allowList
	resolve resolver
	proxy   func(*http.Request) (*url.URL, error)
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ips, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, ip := range ips {
		if !d.allow.permits(host, ip) && !d.isProxy(host, port) {
			errs = append(errs, fmt.Errorf("%s is %s: %w", host, ip, errRefusedAddress))
			continue
		}
		conn, err := d.dial(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ips, err := d.resolve.LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return ips, err
}

// isProxy tells whether this is the proxy of the environment, which the
// person who set it up trusts. What else its host serves is not the proxy.
func (d *dialer) isProxy(host, port string) bool {
	for _, scheme := range []string{"http", "https"} {
		u, err := d.proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.com"}})
		if err == nil && u != nil && strings.EqualFold(u.Hostname(), host) && cmp.Or(u.Port(), usualPorts[u.Scheme]) == port {
			return true
		}
	}
	return false
}

// usualPorts are those of proxies, by the scheme of their address.
var usualPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

const maxRedirects = 5

// newHTTPClient returns a client that goes only where allow lets it. extra is
// set on each request to the origin that it was meant for.
func newHTTPClient(allow *allowList, origin *url.URL, extra map[string]string) (*http.Client, *http.Transport) {
	d := &dialer{allow: allow, resolve: net.DefaultResolver, proxy: http.ProxyFromEnvironment,
		dial: (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext}
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 256 << 10,
	}
	return &http.Client{
		Transport: &outbound{next: base, allow: allow, origin: origin, extra: extra},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("stopped after %d redirects", maxRedirects)
			}
			if !sameOrigin(req.URL, via[0].URL) {
				for _, name := range []string{"Authorization", "Cookie", "Mcp-Session-Id"} {
					req.Header.Del(name)
				}
			}
			return allow.checkURL(req.URL)
		},
	}, base
}

// outbound checks each request, redirected ones too, and adds the configured
// headers where they belong.
type outbound struct {
	next   http.RoundTripper
	allow  *allowList
	origin *url.URL
	extra  map[string]string
}

func (o *outbound) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := o.allow.checkURL(req.URL); err != nil {
		return nil, err
	}
	if len(o.extra) > 0 && sameOrigin(req.URL, o.origin) {
		req = req.Clone(req.Context())
		for name, value := range o.extra {
			req.Header.Set(name, value)
		}
	}
	return o.patiently(req)
}

// The bounds of waiting for a server that is busy.
const (
	maxRetries    = 3
	maxRetryAfter = 30 * time.Second
)

// patiently sends a request again when the server says that it did not look
// at it and when to come back.
func (o *outbound) patiently(req *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		resp, err := o.next.RoundTrip(req)
		if err != nil || n == maxRetries || (req.Body != nil && req.GetBody == nil) {
			return resp, err
		}
		wait, ok := retryAfter(resp, time.Now())
		if !ok || wait > maxRetryAfter {
			return resp, nil
		}
		_ = resp.Body.Close()
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-req.Context().Done():
			t.Stop()
			return nil, context.Cause(req.Context())
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter reads when to come back, in seconds or as a date.
func retryAfter(resp *http.Response, now time.Time) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	text := resp.Header.Get("Retry-After")
	if s, err := strconv.Atoi(text); err == nil && s >= 0 {
		return time.Duration(s) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

var _ http.RoundTripper = (*outbound)(nil)

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}
