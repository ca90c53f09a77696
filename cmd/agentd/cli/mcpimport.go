package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/plugins/mcp"
)

func newMCPImport(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Take MCP servers over from another client's JSON file",
		Long: "import reads the servers of a JSON file in the form that MCP clients use\n" +
			"(mcpServers, or servers) and writes them into agent.yml. Servers that are there\n" +
			"already stay as they are; - reads stdin.",
		Example: "  agentd mcp import .mcp.json",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := readImport(args[0])
			if err != nil {
				return err
			}
			servers, err := foreignServers(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			env, err := findEnvironment(s.config)
			if err != nil {
				return err
			}
			return s.importServers(env, servers)
		},
	}
}

// maxImport bounds a file of another client, in bytes.
const maxImport = 1 << 20

func readImport(name string) ([]byte, error) {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s: larger than %d bytes", name, maxImport)
	}
	return text, err
}

// foreignServers finds the servers in the files of other clients: under
// mcpServers, under servers, or either of them under mcp.
func foreignServers(text []byte) (map[string]map[string]any, error) {
	var file struct {
		MCPServers map[string]map[string]any `json:"mcpServers"`
		Servers    map[string]map[string]any `json:"servers"`
		MCP        struct {
			MCPServers map[string]map[string]any `json:"mcpServers"`
			Servers    map[string]map[string]any `json:"servers"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("want JSON with mcpServers: %w", err)
	}
	for _, servers := range []map[string]map[string]any{file.MCPServers, file.Servers, file.MCP.MCPServers, file.MCP.Servers} {
		if len(servers) > 0 {
			return servers, nil
		}
	}
	return nil, errors.New("no servers under mcpServers or servers")
}

// importServers writes servers into agent.yml, all or none.
func (s *settings) importServers(env environment, servers map[string]map[string]any) error {
	known := serverOptions()
	var added []string
	err := s.edit(env, func(schema *config.Schema, text []byte) ([]byte, error) {
		present, err := presentServers(schema, env.Config)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			if present[name] {
				fmt.Fprintf(os.Stderr, "%s is there already, kept as it is\n", visible(name))
				continue
			}
			options := servers[name]
			for _, key := range slices.Sorted(maps.Keys(options)) {
				if !known[key] {
					fmt.Fprintf(os.Stderr, "%s: %s means nothing here, left out\n", visible(name), visible(key))
					delete(options, key)
				}
			}
			if text, err = schema.Set(text, []string{"plugins", "mcp", "servers", name}, options); err != nil {
				return nil, err
			}
			added = append(added, name)
		}
		return text, s.checkEdit(schema, env, text)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s: added %s\n", env.Config, listOr(added, "nothing"))
	return nil
}

// serverOptions are the keys that an entry of mcp.servers knows.
func serverOptions() map[string]bool {
	known := map[string]bool{}
	t := reflect.TypeFor[mcp.ServerConfig]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	return known
}

// presentServers are those of agent.yml, by name.
func presentServers(schema *config.Schema, path string) (map[string]bool, error) {
	doc, err := schema.Load(config.Sources{File: path, Named: true, Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	present := map[string]bool{}
	doc.Walk(func(e *config.Entry) {
		var options struct {
			Servers    map[string]json.RawMessage `json:"servers"`
			MCPServers map[string]json.RawMessage `json:"mcpServers"`
		}
		if e.Plugin != mcp.Plugin.Name || json.Unmarshal(e.Config, &options) != nil {
			return
		}
		for name := range options.Servers {
			present[name] = true
		}
		for name := range options.MCPServers {
			present[name] = true
		}
	})
	return present, nil
}

// checkEdit refuses a text that would not be taken as agent.yml, before it is
// written.
func (s *settings) checkEdit(schema *config.Schema, env environment, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(env.Config), ".agentd-check-*.yml")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	src := s.sources(env, nil)
	src.File, src.Named = f.Name(), true
	if _, err = schema.Load(src); err != nil {
		return errors.New(strings.ReplaceAll(strings.Join(errorLines(err), "\n"), f.Name(), env.Config) + "\nnothing was written")
	}
	return nil
}

func listOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
