package cli

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// daemonDouble answers one call with f, and closes the connection after it.
func daemonDouble(t *testing.T, f func(net.Conn)) *remote {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			// Whoever only looks whether somebody listens sends nothing.
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				f(conn)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	r := dialDaemon(socket)
	if r == nil {
		t.Fatal("no daemon")
	}
	return r
}

const answered = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestACallEndsWithTheDaemonThatMakesIt(t *testing.T) {
	for name, says := range map[string]string{"before it answers": "", "after": answered} {
		t.Run(name, func(t *testing.T) {
			r := daemonDouble(t, func(conn net.Conn) { conn.Write([]byte(says)) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := r.call(ctx, callTool{Name: "x"}, nil)
			if !errors.Is(err, errDaemonGone) || exitCode(err) != exitError || !strings.Contains(err.Error(), "the daemon is gone") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestACallEndsWhenItIsInterrupted(t *testing.T) {
	for name, says := range map[string]string{"before the daemon answers": "", "after": answered} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r := daemonDouble(t, func(conn net.Conn) {
				conn.Write([]byte(says))
				cancel()
				conn.Read(make([]byte, 1<<16)) // what is left of the body
				conn.Read(make([]byte, 1<<16)) // its end
			})
			if _, err := r.call(ctx, callTool{Name: "x"}, nil); exitCode(err) != exitInterrupted {
				t.Errorf("got %v", err)
			}
		})
	}
}
