package coretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// An Upstream is a fake of a provider's HTTP API, in whose words the test
// answers. It remembers what it was sent.
type Upstream struct {
	// URL is its address, without a path.
	URL string

	mu     sync.Mutex // guards the fields below
	bodies []string
	header http.Header
}

// NewUpstream starts a fake that lets answer speak, until the test ends. A
// request that is no POST to path fails the test.
func NewUpstream(t testing.TB, path string, answer http.HandlerFunc) *Upstream {
	t.Helper()
	u := &Upstream{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		u.remember(string(body), r.Header)
		if r.URL.Path != path || r.Method != http.MethodPost {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	u.URL = srv.URL
	return u
}

func (u *Upstream) remember(body string, header http.Header) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bodies, u.header = append(u.bodies, body), header
}

// Bodies returns what was sent so far, in order.
func (u *Upstream) Bodies() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.bodies)
}

// Header returns the header of the latest request; nil before the first.
func (u *Upstream) Header() http.Header {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.header
}
