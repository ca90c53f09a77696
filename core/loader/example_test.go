package loader_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
)

func Example() {
	type options struct {
		Name string `json:"name,omitempty" jsonschema:"default=world"`
	}
	hello := core.Plugin[options]{Name: "hello", Apply: func(c *core.Context, o options) error {
		fmt.Println("hello", o.Name)
		return c.OnDispose(func() error { fmt.Println("bye", o.Name); return nil })
	}}

	dir, err := os.MkdirTemp("", "loader")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, config.FileName)
	save := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}

	ctx := context.Background()
	quiet := slog.New(slog.DiscardHandler)
	host := core.New(&core.Options{Logger: quiet})
	defer host.Close(ctx)
	schema, err := loader.NewSchema(hello)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := loader.New(host.Root(), loader.Options{
		Schema: schema, Plugins: []core.AnyPlugin{hello}, Log: quiet,
		Sources: config.Sources{File: file, Named: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	save("plugins: {hello: {}}")
	fmt.Println(l.Reload(ctx))
	save("plugins: {hello: {name: there}}")
	fmt.Println(l.Reload(ctx))
	fmt.Println(l.Disable(ctx, "hello"))
	// Output:
	// hello world
	// <nil>
	// bye world
	// hello there
	// <nil>
	// bye there
	// <nil>
}
