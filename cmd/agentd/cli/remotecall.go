package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// callPath is where a call is made whose questions go to the caller. Both
// sides send JSON values, one a line, at the same time: the client a callTool
// and then callAnswers, the daemon callNews up to the result.
const callPath = "/v1/call"

// callNews is what the daemon says during a call; one of the fields is set
// beside N.
type callNews struct {
	N        int            `json:"n,omitempty"` // numbers the questions
	Ask      *core.Approval `json:"ask,omitempty"`
	Question *core.Question `json:"question,omitempty"`
	Settled  bool           `json:"settled,omitempty"` // question N needs no answer any more
	Result   *core.Result   `json:"result,omitempty"`
	Error    *remoteError   `json:"failed,omitempty"`
}

// callAnswer is what the client says to question N. Neither field: the person
// left.
type callAnswer struct {
	N      int          `json:"n"`
	Answer *core.Answer `json:"answer,omitempty"`
	Reply  *core.Reply  `json:"reply,omitempty"`
}

// serveCall makes one call for a client, and brings its questions there.
func serveCall(h *running) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		var call callTool
		if err := in.Decode(&call); err != nil {
			writeJSON(w, http.StatusBadRequest, remoteError{Message: "call: " + err.Error()})
			return
		}
		line := http.NewResponseController(w)
		if err := line.EnableFullDuplex(); err != nil {
			writeJSON(w, http.StatusInternalServerError, remoteError{Message: err.Error()})
			return
		}
		w.WriteHeader(http.StatusOK) // the client then notices if this process ends
		if err := line.Flush(); err != nil {
			return
		}
		a := &callerAsker{session: "call-" + rand.Text(), waiting: map[int]chan callAnswer{}, send: func(n callNews) error {
			return errors.Join(json.NewEncoder(w).Encode(n), line.Flush())
		}}
		// The reading ends when the client closes its side, which it does at
		// the latest when it has the result.
		go a.listen(in, cancel)
		a.tell(a.make(ctx, h, call))
	}
}

// callerAsker reaches the person who made one call from another process.
type callerAsker struct {
	session string // that of the call, which nobody else has

	mu      sync.Mutex // guards the fields below; held while sending
	send    func(callNews) error
	n       int
	waiting map[int]chan callAnswer
}

// make makes the call and says how it ended.
func (a *callerAsker) make(ctx context.Context, h *running, in callTool) callNews {
	failed := func(err error) callNews {
		return callNews{Error: &remoteError{h.settings.secrets.redact(err.Error()), exitCode(err)}}
	}
	if in.Asks {
		stop, err := h.addAsker(a)
		if err != nil {
			return failed(err)
		}
		defer stop()
	}
	in.session = a.session
	res, err := in.run(ctx, h)
	if err != nil {
		return failed(err)
	}
	return callNews{Result: &res}
}

// listen takes the client's answers, and calls gone when there are no more.
func (a *callerAsker) listen(in *json.Decoder, gone func()) {
	defer gone()
	for {
		var ans callAnswer
		if in.Decode(&ans) != nil {
			return
		}
		a.mu.Lock()
		if ch := a.waiting[ans.N]; ch != nil {
			ch <- ans
			delete(a.waiting, ans.N)
		}
		a.mu.Unlock()
	}
}

func (a *callerAsker) tell(n callNews) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.send(n)
}

// put sends a question and waits for its answer.
func (a *callerAsker) put(ctx context.Context, news callNews) (callAnswer, error) {
	a.mu.Lock()
	a.n++
	news.N = a.n
	answered := make(chan callAnswer, 1)
	a.waiting[news.N] = answered
	err := a.send(news)
	a.mu.Unlock()
	if err != nil {
		return callAnswer{}, err
	}
	select {
	case ans := <-answered:
		return ans, nil
	case <-ctx.Done():
		a.tell(callNews{N: news.N, Settled: true}) //nolint:errcheck // the client left
		return callAnswer{}, context.Cause(ctx)
	}
}

// Name says through what an answer came.
func (a *callerAsker) Name() string { return "the caller's terminal" }

// Takes only the questions of its own call.
func (a *callerAsker) Takes(session string) bool { return session == a.session }

// errCallerLeft is no answer: the person closed the terminal.
var errCallerLeft = errors.New("the caller left")

// Ask puts a question to the caller.
func (a *callerAsker) Ask(ctx context.Context, q core.Approval) (core.Answer, error) {
	ans, err := a.put(ctx, callNews{Ask: &q})
	if err == nil && ans.Answer == nil {
		err = errCallerLeft
	}
	if err != nil {
		return core.Answer{}, err
	}
	return *ans.Answer, nil
}

// Question puts a free question to the caller.
func (a *callerAsker) Question(ctx context.Context, q core.Question) (core.Reply, error) {
	ans, err := a.put(ctx, callNews{Question: &q})
	if err == nil && ans.Reply == nil {
		err = errCallerLeft
	}
	if err != nil {
		return core.Reply{}, err
	}
	return *ans.Reply, nil
}

// call makes a call in the daemon. Its questions go to asker, if there is one.
func (r *remote) call(ctx context.Context, in callTool, asker core.Questioner) (core.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in.Asks = asker != nil
	// The request lasts as long as its body, which has to end with whatever
	// ends the call.
	body, out := io.Pipe()
	defer out.Close()
	defer context.AfterFunc(ctx, func() { out.Close() })()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agentd"+callPath, body)
	if err != nil {
		return core.Result{}, err
	}
	c := &caller{asker: asker, out: json.NewEncoder(out), hangUp: out.Close, asked: map[int]context.CancelFunc{}}
	go c.say(in)
	resp, err := r.watched(out.Close).Do(req)
	if err != nil {
		return core.Result{}, gone(ctx, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	return c.follow(ctx, json.NewDecoder(resp.Body))
}

// watched is a client that calls broke when its connection breaks.
func (r *remote) watched(broke func() error) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := r.dial(ctx)
		if err != nil {
			return nil, err
		}
		return &watchedConn{conn, broke}, nil
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

type watchedConn struct {
	net.Conn
	broke func() error
}

func (c *watchedConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	if err != nil {
		c.broke() //nolint:errcheck // of a pipe: none
	}
	return n, err
}

// errDaemonGone is how a call ends whose daemon ended before it.
var errDaemonGone = errors.New("the daemon is gone, the call may have been made")

// gone tells a daemon that is gone from a caller who left.
func gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errDaemonGone, err)
}

// caller is the client's side of a call.
type caller struct {
	asker  core.Questioner
	hangUp func() error

	mu    sync.Mutex // guards the fields below; held while sending
	out   *json.Encoder
	asked map[int]context.CancelFunc
}

// follow reads what the daemon says up to the result.
func (c *caller) follow(ctx context.Context, in *json.Decoder) (core.Result, error) {
	var answering sync.WaitGroup
	defer answering.Wait()
	defer c.hangUp()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		var news callNews
		if err := in.Decode(&news); err != nil {
			return core.Result{}, gone(ctx, err)
		}
		switch {
		case news.Result != nil && ctx.Err() != nil:
			return core.Result{}, context.Cause(ctx) // a denial, for the person left while being asked
		case news.Result != nil:
			return *news.Result, nil
		case news.Error != nil:
			return core.Result{}, news.Error
		case news.Settled:
			c.settled(news.N)
		default:
			asking := c.asking(ctx, news.N)
			answering.Go(func() { c.say(c.answer(asking, news)) })
		}
	}
}

func (c *caller) asking(ctx context.Context, n int) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, c.asked[n] = context.WithCancel(ctx)
	return ctx
}

func (c *caller) settled(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop := c.asked[n]; stop != nil {
		stop()
		delete(c.asked, n)
	}
}

// answer has the person answer a question.
func (c *caller) answer(ctx context.Context, news callNews) callAnswer {
	ans := callAnswer{N: news.N}
	switch {
	case c.asker == nil:
	case news.Ask != nil:
		if a, err := c.asker.Ask(ctx, *news.Ask); err == nil {
			ans.Answer = &a
		}
	case news.Question != nil:
		if r, err := c.asker.Question(ctx, *news.Question); err == nil {
			ans.Reply = &r
		}
	}
	return ans
}

func (c *caller) say(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Encode(v) //nolint:errcheck // the daemon left; follow says so
}

var _ core.Questioner = (*callerAsker)(nil)
