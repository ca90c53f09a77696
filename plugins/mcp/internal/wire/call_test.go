package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shared is a connection to p that has the SDK on it, too.
func shared(t *testing.T, p *peer) (*Conn, *mcp.ClientSession) {
	t.Helper()
	answer := p.answer
	p.answer = func(req *jsonrpc.Request) []string {
		switch req.Method {
		case "initialize":
			return []string{initResult}
		case "notifications/initialized":
			return nil
		}
		return answer(req)
	}
	c := NewConn(p)
	return c, connect(t, ready{c})
}

type ready struct{ c *Conn }

func (r ready) Connect(context.Context) (mcp.Connection, error) { return r.c, nil }

func call(ctx context.Context, c *Conn, token string) (string, error) {
	raw, err := c.Call(ctx, "tools/call", json.RawMessage(`{"name":"x"}`), &Tap{ID: token})
	return string(raw), err
}

func TestRule9_CallsBesideTheSDKGiveResultsAsReceived(t *testing.T) {
	ids := map[jsonrpc.ID]bool{}
	c, cs := shared(t, newPeer(func(req *jsonrpc.Request) []string {
		if ids[req.ID] {
			t.Errorf("the id %v comes twice", req.ID.Raw())
		}
		ids[req.ID] = true
		if req.Method == "ping" {
			return []string{`{"id":$ID,"result":{}}`}
		}
		return []string{`{"id":$ID,"result":` + oddResult + `}`}
	}))
	for range 3 {
		if got, err := call(t.Context(), c, "t"); got != oddResult || err != nil {
			t.Errorf("result = %s, %v", got, err)
		}
		if err := cs.Ping(t.Context(), nil); err != nil {
			t.Errorf("the SDK's own call: %v", err)
		}
	}
}

func TestRule2_AnswersTwiceAndWithTheIDAsAString(t *testing.T) {
	n := 0
	c, _ := shared(t, newPeer(func(*jsonrpc.Request) []string {
		n++
		text := fmt.Sprintf(`{"id":"$ID","result":%d}`, n)
		return []string{text, text}
	}))
	for i := range 3 {
		if got, err := call(t.Context(), c, "t"); got != fmt.Sprint(i+1) || err != nil {
			t.Errorf("call %d = %s, %v", i+1, got, err)
		}
	}
}

func TestErrorsOfTheServerStayWhatTheyAre(t *testing.T) {
	c, _ := shared(t, newPeer(func(*jsonrpc.Request) []string {
		return []string{`{"id":$ID,"error":{"code":-32005,"message":"no","data":{"a":1}}}`}
	}))
	_, err := call(t.Context(), c, "t")
	want := &jsonrpc.Error{Code: -32005, Message: "no", Data: json.RawMessage(`{"a":1}`)}
	var got *jsonrpc.Error
	if !errors.As(err, &got) {
		t.Fatalf("err = %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRule10_ProgressOfACallBesideTheSDK(t *testing.T) {
	const progress = `{"method":"notifications/progress","params":{"progressToken":"%s","progress":%d}}`
	c, _ := shared(t, newPeer(func(*jsonrpc.Request) []string {
		return []string{
			fmt.Sprintf(progress, "mine", 1), fmt.Sprintf(progress, "other", 2), fmt.Sprintf(progress, "mine", 3),
			`{"id":$ID,"result":{}}`,
		}
	}))
	var got []string
	tap := &Tap{ID: "mine", Notify: func(_ string, params json.RawMessage) { got = append(got, string(params)) }}
	if _, err := c.Call(t.Context(), "tools/call", nil, tap); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !strings.Contains(got[1], `"progress":3`) {
		t.Errorf("notified of %q", got)
	}
}

func TestRule10_AGivenUpCallReturnsAtOnceAndTheServerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var id any
		told := make(chan string, 1)
		p := newPeer(func(req *jsonrpc.Request) []string {
			switch {
			case req.Method == "notifications/cancelled":
				told <- string(req.Params)
			case id == nil:
				id = req.ID.Raw()
			default: // the late answer comes with that of the next call
				return []string{fmt.Sprintf(`{"id":%v,"result":"late"}`, id), `{"id":$ID,"result":"mine"}`}
			}
			return nil
		})
		c, _ := shared(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := call(ctx, c, "t1")
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		if len(c.calls)+len(c.tokens) > 0 {
			t.Errorf("left: %v, %v", c.calls, c.tokens)
		}
		if got, want := <-told, fmt.Sprintf(`{"requestId":%v}`, id); got != want {
			t.Errorf("the server was told %s, want %s", got, want)
		}
		if got, err := call(t.Context(), c, "t2"); got != `"mine"` || err != nil {
			t.Errorf("the next call = %s, %v", got, err)
		}
	})
}

func TestRule4_TheEndOfTheServerFailsCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(*jsonrpc.Request) []string { return nil })
		c, cs := shared(t, p)
		done := make(chan error)
		for range 2 {
			go func() {
				_, err := call(t.Context(), c, "t")
				done <- err
			}()
		}
		synctest.Wait()
		p.ended = errors.New("exit status 7")
		_ = p.Close()
		for range 2 {
			if err := <-done; !errors.Is(err, p.ended) || errors.Is(err, ErrNotSent) {
				t.Errorf("err = %v", err)
			}
		}
		if _, err := call(t.Context(), c, "t"); !errors.Is(err, ErrNotSent) {
			t.Errorf("the next call: %v", err)
		}
		_ = cs.Close()
	})
}

func TestRule4_WhatCouldNotBeWrittenNeverRan(t *testing.T) {
	p := newPeer(nil)
	c := NewConn(p)
	p.broken = io.ErrClosedPipe
	if _, err := call(t.Context(), c, "t"); !errors.Is(err, ErrNotSent) || !errors.Is(err, p.broken) {
		t.Errorf("err = %v", err)
	}
	if len(c.calls)+len(c.tokens) > 0 {
		t.Errorf("left: %v, %v", c.calls, c.tokens)
	}
}

func TestDrainWaitsForTheCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(*jsonrpc.Request) []string { return nil })
		c, _ := shared(t, p)
		done, drained := make(chan string, 1), make(chan struct{})
		go func() {
			got, _ := call(t.Context(), c, "t")
			done <- got
		}()
		synctest.Wait()
		go func() {
			defer close(drained)
			c.Drain()
		}()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("drained with a call under way")
		default:
		}
		if _, err := call(t.Context(), c, "t2"); !errors.Is(err, ErrNotSent) {
			t.Errorf("a call while it drains: %v", err)
		}
		id, err := jsonrpc.MakeID(float64(firstID))
		if err != nil {
			t.Fatal(err)
		}
		p.out <- &jsonrpc.Response{ID: id, Result: json.RawMessage(`1`)}
		<-drained
		if got := <-done; got != "1" {
			t.Errorf("the call under way = %s", got)
		}
	})
}
