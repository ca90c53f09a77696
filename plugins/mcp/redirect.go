package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// A redirect is the address on this machine to which browsers come back from
// logins. The authorization server was told of it when the client was
// registered, so it must not become somebody else's between two logins: a port
// that was not configured stays ours until close. A configured one is taken
// for the time of each login alone, since other agents of this machine may be
// told of the same. It may be used concurrently.
type redirect struct {
	fixed bool

	mu     sync.Mutex // guards the fields below
	port   int
	stop   func(context.Context)          // while listening
	answer chan *auth.AuthorizationResult // of the login under way, nil without one
}

// openRedirect gives the address with the port, or with any if it is 0.
func openRedirect(port int) (*redirect, error) {
	r := &redirect{port: port, fixed: port > 0}
	if r.fixed {
		return r, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.listen()
}

func (r *redirect) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("http://127.0.0.1:%d/callback", r.port)
}

// listen begins to receive browsers; r.mu is held.
func (r *redirect) listen() error {
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
	if err != nil {
		return err
	}
	r.port = ln.Addr().(*net.TCPAddr).Port
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", r.receive)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(ln) }()
	r.stop = func(ctx context.Context) { hangUp(ctx, srv); <-served }
	return nil
}

// await begins a login: the channel gets its answer, once. The returned
// function ends it.
func (r *redirect) await() (answer <-chan *auth.AuthorizationResult, end func(context.Context), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		if err := r.listen(); err != nil {
			return nil, nil, err
		}
	}
	r.answer = make(chan *auth.AuthorizationResult, 1)
	return r.answer, r.done, nil
}

func (r *redirect) done(ctx context.Context) {
	r.mu.Lock()
	r.answer = nil
	r.mu.Unlock()
	if r.fixed {
		r.close(ctx)
	}
}

// close gives the port back.
func (r *redirect) close(ctx context.Context) {
	r.mu.Lock()
	stop := r.stop
	r.stop = nil
	r.mu.Unlock()
	if stop != nil {
		stop(ctx)
	}
}

// receive takes the browser's answer to the login under way.
func (r *redirect) receive(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if answer == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintln(w, "agentd waits for no login here.")
		return
	}
	q := req.URL.Query()
	select {
	case answer <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}:
	default:
	}
	_, _ = fmt.Fprintln(w, "agentd has what it needs. You can close this page.")
}

// hangUp ends a server when the pages under way were sent.
func hangUp(ctx context.Context, srv *http.Server) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if srv.Shutdown(end) != nil {
		_ = srv.Close()
	}
}
