package mcp

import (
	"io"
	"net/http"
	"time"
)

// How slow a client may be. One that stopped holds a connection and an answer
// no longer than that; one that is slow goes on, and a stream on which nothing
// is said stays open.
const (
	writeTime  = 30 * time.Second // for one piece of an answer
	writePiece = 64 << 10
	readTime   = 30 * time.Second // for a body, and as long again for each readPiece of it
	readPiece  = 512 << 10
)

// A paced is the way back to a client that has to go on reading.
type paced struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// pace gives a request and its answer their deadlines. done is to be called
// when the request was served: what is left of the answer is sent after that.
func pace(w http.ResponseWriter, r *http.Request) (p *paced, done func()) {
	p = &paced{w, http.NewResponseController(w)}
	if r.ContentLength != 0 {
		b := &pacedBody{ReadCloser: r.Body, conn: p.conn, end: time.Now().Add(readTime)}
		_ = p.conn.SetReadDeadline(b.end) // of those who read nothing of it, too
		r.Body = b
	}
	return p, p.begin
}

func (p *paced) begin() { _ = p.conn.SetWriteDeadline(time.Now().Add(writeTime)) }

// end lets the connection outlive what was written.
func (p *paced) end() { _ = p.conn.SetWriteDeadline(time.Time{}) }

func (p *paced) Write(data []byte) (n int, err error) {
	defer p.end()
	for {
		piece := data[n:min(len(data), n+writePiece)]
		p.begin()
		m, err := p.ResponseWriter.Write(piece)
		n += m
		if err != nil || n == len(data) {
			return n, err
		}
	}
}

// FlushError is what a [http.ResponseController] calls.
func (p *paced) FlushError() error {
	p.begin()
	defer p.end()
	return p.conn.Flush()
}

func (p *paced) Flush() { _ = p.FlushError() }

func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// A pacedBody is a body that has to go on coming.
type pacedBody struct {
	io.ReadCloser
	conn *http.ResponseController
	end  time.Time
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
		b.end = b.end.Add(readTime * time.Duration(n) / readPiece)
		_ = b.conn.SetReadDeadline(b.end)
	case io.EOF:
		_ = b.conn.SetReadDeadline(time.Time{}) // the request goes on
	}
	return n, err
}

var _ http.Flusher = (*paced)(nil)
