package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ErrNoMessage is matched by errors of text that is no JSON-RPC message.
var ErrNoMessage = errors.New("not a JSON-RPC message")

type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

type wireError struct {
	Code    json.Number     `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Decode reads the messages of one line: one object, or a batch. It accepts
// what servers in the wild send: a missing version tag, "error": null beside
// a result, the id of our call returned as a string.
func Decode(text []byte) ([]jsonrpc.Message, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if len(text) == 0 {
		return nil, ErrNoMessage
	}
	switch text[0] {
	case '{':
		msg, err := decodeOne(text)
		if err != nil {
			return nil, err
		}
		return []jsonrpc.Message{msg}, nil
	case '[':
		return decodeBatch(text)
	}
	return nil, ErrNoMessage
}

func decodeBatch(text []byte) ([]jsonrpc.Message, error) {
	var batch []json.RawMessage
	if err := json.Unmarshal(text, &batch); err != nil || len(batch) == 0 {
		return nil, ErrNoMessage
	}
	msgs := make([]jsonrpc.Message, 0, len(batch))
	for _, raw := range batch {
		msg, err := decodeOne(raw)
		if err != nil {
			return nil, err
		}
		msgs = append(msgs, msg)
	}
	return msgs, nil
}

func decodeOne(text []byte) (jsonrpc.Message, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoMessage, err)
	}
	if e.Method != nil {
		return decodeRequest(e)
	}
	if isNull(e.ID) || (len(e.Result) == 0 && e.Error == nil) {
		return nil, ErrNoMessage
	}
	id, err := ResponseID(e.ID)
	if err != nil {
		return nil, err
	}
	res := &jsonrpc.Response{ID: id, Result: e.Result}
	if e.Error != nil {
		res.Result, res.Error = nil, e.Error.rpc()
	}
	return res, nil
}

func decodeRequest(e envelope) (jsonrpc.Message, error) {
	req := &jsonrpc.Request{Method: *e.Method, Params: e.Params}
	if isNull(e.ID) {
		return req, nil
	}
	var v any
	if err := json.Unmarshal(e.ID, &v); err != nil {
		return nil, ErrNoMessage
	}
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoMessage, err)
	}
	req.ID = id
	return req, nil
}

// ResponseID reads the id of an answer. Our calls are numbered, so a string
// that holds a number means that number.
func ResponseID(raw json.RawMessage) (jsonrpc.ID, error) {
	if n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 53); err == nil {
		return jsonrpc.MakeID(float64(n))
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return jsonrpc.ID{}, ErrNoMessage
	}
	if f, ok := v.(float64); ok && f != math.Trunc(f) {
		return jsonrpc.ID{}, ErrNoMessage
	}
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		return jsonrpc.ID{}, fmt.Errorf("%w: %v", ErrNoMessage, err)
	}
	return id, nil
}

func (w *wireError) rpc() *jsonrpc.Error {
	code, err := w.Code.Int64()
	if err != nil {
		code = jsonrpc.CodeInternalError
	}
	msg := w.Message
	if msg == "" {
		msg = "error without a message"
	}
	return &jsonrpc.Error{Code: code, Message: msg, Data: w.Data}
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}
