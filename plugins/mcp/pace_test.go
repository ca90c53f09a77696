package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, where time can be
// other than that of the clock.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.over); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// knock serves behind a door and gives the connection of a client that wrote
// text, or as much of it as was taken.
func knock(t *testing.T, behind http.HandlerFunc, text string) net.Conn {
	t.Helper()
	p := pipes{make(chan net.Conn), make(chan struct{})}
	srv := &http.Server{Handler: &door{token: "t", hosts: []string{"here"}, next: behind}, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(p) }()
	mine, its := net.Pipe()
	t.Cleanup(func() { mine.Close(); srv.Close(); <-done })
	p.conns <- its
	if _, err := io.WriteString(mine, text); err != nil {
		t.Fatal(err)
	}
	return mine
}

const head = "POST /mcp HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\n"

func TestE8_AClientThatStopsReadingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		knock(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			l := &line{w: w}
			l.finish([]byte("1"), []byte(`"`+strings.Repeat("x", 1<<20)+`"`), nil)
			close(left)
		}, head+"Content-Length: 2\r\n\r\n{}")
		began := time.Now()
		<-left
		if took := time.Since(began); took > 2*writeTime {
			t.Errorf("it was waited for for %v", took)
		}
	})
}

func TestE8_AClientThatReadsSlowlyGetsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		conn := knock(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			l := &line{w: w}
			l.finish([]byte("1"), []byte(`"`+strings.Repeat("x", size)+`"`), nil)
		}, head+"Content-Length: 2\r\n\r\n{}")
		got, buf := 0, make([]byte, writePiece/4)
		for got < size {
			time.Sleep(writeTime / 6)
			n, err := conn.Read(buf)
			if got += n; err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
		}
	})
}

// What a call sends before its result may be far apart, and so may the
// messages of a stream.
func TestE8_ASilentStreamStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, request := range []string{"GET /mcp HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer t\r\n\r\n", head + "Content-Length: 2\r\n\r\n{}"} {
			conn := knock(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				l := &line{w: w}
				for i := range 3 {
					select {
					case <-time.After(10 * max(writeTime, readTime)):
					case <-r.Context().Done():
						t.Errorf("cut off: %v", context.Cause(r.Context()))
					}
					l.send(i)
				}
			}, request)
			lines := bufio.NewScanner(conn)
			for i := range 3 {
				for lines.Scan() && lines.Text() != fmt.Sprintf("data: %d", i) {
				}
			}
			if err := lines.Err(); err != nil {
				t.Errorf("%.4s: %v", request, err)
			}
		}
	})
}

func TestE8_ABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	for name, first := range map[string]string{
		"let in":            head + "Content-Length: 1000000\r\n\r\n{",
		"in chunks":         head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"refused":           "POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{",
		"of another name":   "POST /mcp HTTP/1.1\r\nHost: there\r\nContent-Length: 1000\r\n\r\n{",
		"in drops, let in":  head + "Content-Length: 1000000\r\n\r\n{",
		"in drops, refused": "POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 100000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := knock(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }, first)
				var drops sync.WaitGroup
				defer drops.Wait()
				if strings.HasPrefix(name, "in drops") {
					drops.Go(func() {
						for err := error(nil); err == nil; _, err = conn.Write([]byte("x")) {
							time.Sleep(time.Second)
						}
					})
				}
				defer conn.Close()
				began := time.Now()
				_, _ = io.Copy(io.Discard, conn)
				if took := time.Since(began); took > 2*readTime {
					t.Errorf("the connection stayed for %v", took)
				}
			})
		})
	}
}

func TestE8_ABodyThatComesSlowlyIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		got := make(chan int, 1)
		conn := knock(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("after %d bytes: %v", len(body), err)
			}
			got <- len(body)
		}, head+fmt.Sprintf("Content-Length: %d\r\n\r\n", size))
		piece := []byte(strings.Repeat("x", readPiece))
		for range size / readPiece {
			time.Sleep(readTime * 3 / 4)
			if _, err := conn.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if n := <-got; n != size {
			t.Errorf("%d bytes of %d", n, size)
		}
		_, _ = io.ReadAll(io.LimitReader(conn, 1))
	})
}
