package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/agentd-host/agentd/core/config"
)

type weather struct {
	Endpoint string `json:"endpoint"`
	Every    string `json:"every,omitempty" jsonschema:"default=10m"`
}

func weatherSchema() *config.Schema {
	s, err := config.NewSchema(config.Plugin{Name: "weather", Config: reflect.TypeFor[weather]()})
	if err != nil {
		panic(err)
	}
	return s
}

func ExampleSchema_Load() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "agent.yml")
	text := "plugins:\n  weather:oslo: {endpoint: \"https://${HOST}/oslo\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	doc, err := weatherSchema().Load(config.Sources{
		File: file, Named: true,
		Environ: []string{"HOST=example.com"},
		Set:     []string{"tools.policy.weather_lookup=auto"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range doc.Entries {
		fmt.Println(e.Name(), string(e.Config))
	}
	fmt.Println(doc.Policy[0].Pattern, doc.Policy[0].Value)
	// Output:
	// weather:oslo {"endpoint":"https://example.com/oslo","every":"10m"}
	// weather_lookup auto
}

func ExampleSchema_SetPolicy() {
	text := "tools:\n  policy:\n    read_file: auto   # fine\n"
	out, err := weatherSchema().SetPolicy([]byte(text), "read_file", "off")
	fmt.Print(string(out), err)
	// Output:
	// tools:
	//   policy:
	//     read_file: off   # fine
	// <nil>
}
