package offline_test

import (
	"context"
	"fmt"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/plugins/offline"
)

func ExampleModel() {
	ask := func(text string) llm.Message {
		answer, err := llm.Collect(offline.Model{}.Stream(context.Background(), &llm.Request{
			Messages: []llm.Message{llm.UserText(text)},
			Tools:    []llm.Tool{{Name: "read_file", Description: "Reads a file. All of it."}},
		}))
		if err != nil {
			panic(err)
		}
		return answer.Message
	}
	call := ask("read_file path=README.md").Calls()[0]
	fmt.Println(call.Name, call.Args)
	fmt.Print(ask("how do I read something?").Text())
	// Output:
	// read_file {"path":"README.md"}
	// Tools that may fit, and how to call them:
	//
	//   read_file
	//       Reads a file.
}
