package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/plugins/workspace"
)

// A host with the workspace alone: nothing decides about calls, so only what
// reads may run.
func ExamplePlugin() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	host := core.New(nil)
	defer host.Close(ctx)
	f, err := core.Load(host.Root(), workspace.Plugin, workspace.Config{Root: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	call := func(tool, args string) {
		r := host.Root().Tools().Execute(ctx, core.Call{Name: tool, Args: json.RawMessage(args)})
		if r.Err != nil {
			fmt.Println(r.Err.Code)
			return
		}
		fmt.Print(r.Text())
	}
	call("read_file", `{"path": "hello.txt"}`)
	call("list_files", `{}`)
	call("write_file", `{"path": "new.txt", "content": "x"}`)
	// Output:
	// hello
	// hello.txt
	// denied
}
