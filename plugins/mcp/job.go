package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A job is a call of a client of the modern era. Questions can't be sent to
// such a client; the call is answered with "input required", the job waits,
// and goes on when the client calls again with the answers.
type job struct {
	key    string // what is called with what: the client must ask for the same again
	outbox *outbox
	ctx    context.Context // ends with the job
	cancel context.CancelFunc
	asks   chan *ask
	done   chan struct{} // closed when raw and err are set
	raw    json.RawMessage
	err    error
	given  mcp.InputResponseMap // answers that came with the call, before anything was asked

	expiry  *time.Timer // while parked
	pending *ask        // while parked
}

// An ask is a result that wants something of the client, on its way there.
type ask struct {
	result json.RawMessage
	reply  chan mcp.InputResponseMap
}

// put asks the client questions of ours and waits for its answers, of which
// some may be missing.
func (j *job) put(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	return j.relay(ctx, encode(map[string]any{"resultType": "input_required", "inputRequests": requests}))
}

// relay gives the client a result that wants something of it, and waits for
// what it calls again with. The state in the result stays here: the client
// gets one of ours instead, by which only this job goes on, and only once.
func (j *job) relay(ctx context.Context, result json.RawMessage) (mcp.InputResponseMap, error) {
	ctx, cancel := both(ctx, j.ctx)
	defer cancel()
	a := &ask{result, make(chan mcp.InputResponseMap, 1)}
	select {
	case j.asks <- a:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case res := <-a.reply:
		return res, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// both gives the first context, ending with the second one too.
func both(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}

// parking holds jobs that wait for their client.
type parking struct {
	mu   sync.Mutex // guards jobs
	jobs map[string]*job
}

const (
	jobPrefix = "agentd-job."
	jobExpiry = 10 * time.Minute
	maxParked = 1000
	askKey    = "question"
	stateKey  = "requestState"
)

// park keeps a job and returns the state by which its client finds it again.
func (p *parking) park(j *job, a *ask) (string, error) {
	state := jobPrefix + rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.jobs) >= maxParked {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many calls wait for answers"}
	}
	j.pending = a
	j.expiry = time.AfterFunc(jobExpiry, func() {
		if p.take(state) != nil {
			j.cancel()
		}
	})
	p.jobs[state] = j
	return state, nil
}

// take removes a job, nil if it is not there (any more).
func (p *parking) take(state string) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.jobs[state]
	delete(p.jobs, state)
	return j
}

// close ends all jobs that wait.
func (p *parking) close() {
	p.mu.Lock()
	jobs := p.jobs
	p.jobs = map[string]*job{}
	p.mu.Unlock()
	for _, j := range jobs {
		j.expiry.Stop()
		j.cancel()
		<-j.done
	}
}

// resume finds the job that a call goes on with. A state that is not ours is
// the server's.
func (p *parking) resume(key, state string, answers mcp.InputResponseMap) (*job, error) {
	if !strings.HasPrefix(state, jobPrefix) {
		return nil, nil
	}
	j := p.take(state)
	if j == nil || j.key != key {
		if j != nil {
			j.expiry.Stop()
			j.cancel()
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is unknown, expired or of another call"}
	}
	j.expiry.Stop()
	j.pending.reply <- answers
	return j, nil
}

// wait waits until the job is done or has a question, with which it is parked.
func (j *job) wait(ctx context.Context, p *parking) (json.RawMessage, error) {
	select {
	case <-j.done:
		return j.raw, j.err
	case a := <-j.asks:
		state, err := p.park(j, a)
		if err != nil {
			j.cancel()
			return nil, err
		}
		return withText(a.result, stateKey, state), nil
	case <-ctx.Done():
		j.cancel()
		<-j.done
		return nil, context.Cause(ctx)
	}
}
