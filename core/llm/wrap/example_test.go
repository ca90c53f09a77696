package wrap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/agentd-host/agentd/core/coretest"
	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/llm/wrap"
)

func ExampleRetry() {
	model := coretest.NewModel(coretest.Fails(llm.ErrOverloaded, "busy"), coretest.Says("hello"))
	again := wrap.Retry(model, &wrap.RetryOptions{Floor: time.Nanosecond})
	answer, err := llm.Collect(again.Stream(context.Background(), &llm.Request{}))
	fmt.Println(answer.Message.Text(), len(answer.Warnings), err)
	// Output: hello 1 <nil>
}

func ExampleRedact() {
	model := wrap.Redact(coretest.NewModel(coretest.Fails(llm.ErrAuth, "no such key: sk-123456")), "sk-123456")
	_, err := llm.Collect(model.Stream(context.Background(), &llm.Request{}))
	fmt.Println(err)
	// Output: scripted: auth: no such key: [redacted]
}
