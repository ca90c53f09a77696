package wrap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/agentd-host/agentd/core/llm"
)

// exchange is one line of a recording.
type exchange struct {
	Info    llm.Info     `json:"info"`
	Request *llm.Request `json:"request"`
	Events  []llm.Event  `json:"events"`
	Error   *fault       `json:"error,omitempty"`
}

// fault is an llm.Error as it is written down.
type fault struct {
	Kind     llm.ErrorKind `json:"kind"`
	Provider string        `json:"provider"`
	Message  string        `json:"message"`
}

// Record writes each request with what was answered to w, one JSON line each,
// for [Replay]. A stream that its consumer left is written as far as it came.
// An error of w ends the stream: a recording with holes is of no use.
func Record(m llm.Model, w io.Writer) llm.Model { return &recording{Model: m, w: w} }

type recording struct {
	llm.Model
	mu sync.Mutex // guards w
	w  io.Writer
}

// Stream passes the inner stream on and writes it down.
func (r *recording) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		x := exchange{Info: r.Describe(), Request: req}
		for ev, err := range r.Model.Stream(ctx, req) {
			if err != nil {
				x.Error = faultOf(err)
				yield(ev, errors.Join(err, r.write(x)))
				return
			}
			x.Events = append(x.Events, ev)
			last := ev.Kind == llm.Finish
			if last {
				if err := r.write(x); err != nil {
					yield(llm.Event{}, err)
					return
				}
			}
			if !yield(ev, nil) {
				if !last {
					_ = r.write(x) // nobody is left to be told of an error
				}
				return
			}
		}
	}
}

func faultOf(err error) *fault {
	var e *llm.Error
	if errors.As(err, &e) {
		return &fault{e.Kind, e.Provider, e.Message}
	}
	return &fault{Kind: llm.ErrTransient, Message: err.Error()}
}

func (r *recording) write(x exchange) error {
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(line, '\n'))
	return err
}

// Replay is a model that plays a recording: the exchanges in their order. A
// request that is not the recorded one is an error that says which it was.
func Replay(recording io.Reader) (llm.Model, error) {
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, 64<<20)
	p := &replay{}
	for n := 1; lines.Scan(); n++ {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("line %d of the recording: %w", n, err)
		}
		if x.Request == nil {
			return nil, fmt.Errorf("line %d of the recording has no request", n)
		}
		p.left = append(p.left, x)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(p.left) == 0 {
		return nil, errors.New("the recording is empty")
	}
	p.info = p.left[0].Info
	return p, nil
}

type replay struct {
	info llm.Info

	mu     sync.Mutex // guards the fields below
	left   []exchange
	played int
}

// Describe gives what the recorded model said of itself.
func (p *replay) Describe() llm.Info { return p.info }

// Stream plays the next exchange.
func (p *replay) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		x, err := p.take(req)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		for _, ev := range x.Events {
			if ctx.Err() != nil {
				yield(llm.Event{}, &llm.Error{
					Kind: llm.ErrCancelled, Provider: p.info.Provider, Message: "cancelled", ToolIndex: -1,
					Cause: context.Cause(ctx),
				})
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		if x.Error != nil {
			yield(llm.Event{}, &llm.Error{
				Kind: x.Error.Kind, Provider: x.Error.Provider, Message: x.Error.Message, ToolIndex: -1,
			})
		}
	}
}

func (p *replay) take(req *llm.Request) (exchange, error) {
	got, err := json.Marshal(req)
	if err != nil {
		return exchange{}, p.mismatch(err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.played++
	if len(p.left) == 0 {
		return exchange{}, p.mismatch("the recording is over")
	}
	want, err := json.Marshal(p.left[0].Request)
	if err != nil || string(got) != string(want) {
		return exchange{}, p.mismatch("another request was recorded")
	}
	x := p.left[0]
	p.left = p.left[1:]
	return x, nil
}

func (p *replay) mismatch(why string) error {
	return &llm.Error{
		Kind: llm.ErrBadRequest, Provider: p.info.Provider, ToolIndex: -1,
		Message: fmt.Sprintf("replay, request %d: %s", p.played, why),
	}
}
