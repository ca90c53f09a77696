package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, "res 1 {}"},
		{"no version tag", `{"id":1,"result":{}}`, "res 1 {}"},
		{"the id as a string", `{"id":"12","result":1}`, "res 12 1"},
		{"another string id", `{"id":"x","result":1}`, "res x 1"},
		{"null error beside a result", `{"id":1,"result":2,"error":null}`, "res 1 2"},
		{"null result", `{"id":1,"result":null}`, "res 1 null"},
		{"an error", `{"id":1,"error":{"code":-32000,"message":"no"}}`, "err 1 -32000 no"},
		{"an error without a code", `{"id":1,"error":{"message":"no"}}`, "err 1 -32603 no"},
		{"an error and null result", `{"id":1,"result":null,"error":{"code":1,"message":"no"}}`, "err 1 1 no"},
		{"a request", `{"id":"a","method":"ping"}`, "req a ping "},
		{"a notification", `{"method":"x","params":{"a":1}}`, `note x {"a":1}`},
		{"null id is a notification", `{"id":null,"method":"x"}`, "note x "},
		{"a batch", `[{"id":1,"result":1},{"method":"x"}]`, "res 1 1; note x "},
		{"a byte order mark", "\uFEFF{\"id\":1,\"result\":1}", "res 1 1"},
		{"text", `listening`, "none"},
		{"a number", `1`, "none"},
		{"a log line", `{"level":"info"}`, "none"},
		{"half a line", `{"id":1,"result":{`, "none"},
		{"a fraction as id", `{"id":1.5,"result":{}}`, "none"},
		{"an object as id", `{"id":{},"method":"x"}`, "none"},
		{"an empty batch", `[]`, "none"},
		{"a batch of others", `[1,2]`, "none"},
		{"nothing", ``, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, describe(Decode([]byte(tt.in)))); diff != "" {
				t.Errorf("Decode(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{}}`))
	f.Add([]byte(`[{"id":"1","error":{"code":1e99}}]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		msgs, err := Decode(line)
		if (err == nil) != (len(msgs) > 0) {
			t.Fatalf("Decode(%q) = %d messages, %v", line, len(msgs), err)
		}
		for _, msg := range msgs {
			if _, err := jsonrpc.EncodeMessage(msg); err != nil {
				t.Errorf("Decode(%q) gives a message that can't be encoded: %v", line, err)
			}
		}
	})
}

func describe(msgs []jsonrpc.Message, err error) string {
	if err != nil {
		return "none"
	}
	var out []string
	for _, msg := range msgs {
		out = append(out, describeOne(msg))
	}
	return strings.Join(out, "; ")
}

func describeOne(msg jsonrpc.Message) string {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if e, ok := m.Error.(*jsonrpc.Error); ok {
			return fmt.Sprintf("err %v %d %s", m.ID.Raw(), e.Code, e.Message)
		}
		return fmt.Sprintf("res %v %s", m.ID.Raw(), m.Result)
	case *jsonrpc.Request:
		if m.IsCall() {
			return fmt.Sprintf("req %v %s %s", m.ID.Raw(), m.Method, m.Params)
		}
		return fmt.Sprintf("note %s %s", m.Method, m.Params)
	}
	return "?"
}
