package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/internal/trust"
	"github.com/agentd-host/agentd/plugins/mcp"
	"github.com/agentd-host/agentd/plugins/toolpolicy"
)

func newMCPImport(s *settings) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Take MCP servers over from another client's JSON file",
		Long: "import reads the servers of a JSON file in the form that MCP clients use\n" +
			"(mcpServers, or servers) and writes them into agent.yml. It shows what each of\n" +
			"them runs, and at a terminal asks first: agentd starts them from then on.\n" +
			"Servers that are there already stay as they are; - reads stdin. What says how\n" +
			"far a server is believed (trusted, pin, allow, ...) is not taken over.",
		Example: "  agentd mcp import .mcp.json\n  agentd mcp import --yes .mcp.json",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := readImport(c.Context(), args[0])
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
			return s.importServers(env, servers, func() (bool, error) {
				if yes || !isTerminal(os.Stdin) {
					return true, nil
				}
				return confirm(c.Context(), "add them to "+env.Config+", to be started?")
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "add them without a question")
	return c
}

// maxImport bounds a file of another client, in bytes.
const maxImport = 1 << 20

func readImport(ctx context.Context, name string) ([]byte, error) {
	in, err := openInput(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s: larger than %d bytes", name, maxImport)
	}
	return text, err
}

// foreignServers finds the servers in the files of other clients: under
// mcpServers, under servers, and either of them under mcp.
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
		return nil, fmt.Errorf(`want JSON with mcpServers, as in {"mcpServers": {"files": {"command": "npx"}}}: %w`, inJSON(err))
	}
	found := map[string]map[string]any{}
	for _, servers := range []map[string]map[string]any{file.MCPServers, file.Servers, file.MCP.MCPServers, file.MCP.Servers} {
		for name, server := range servers {
			switch {
			case server == nil:
				return nil, fmt.Errorf("the server %q is null: want what it runs or where it is", name)
			case found[name] != nil:
				return nil, fmt.Errorf("the server %q is there twice, under mcpServers and under servers: keep one", name)
			}
			found[name] = server
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no servers under mcpServers or servers")
	}
	return found, nil
}

// inJSON says what of a file is of the wrong kind, without the types that it
// was decoded into.
func inJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("found %s at its top", wrong.Value)
	}
	return fmt.Errorf("found %s in %s", wrong.Value, wrong.Field)
}

// importServers writes servers into agent.yml, all or none, if a person who
// was shown what they run agrees. That is his consent to start them.
func (s *settings) importServers(env environment, servers map[string]map[string]any, agree func() (bool, error)) error {
	if env.Config == "" {
		return errNoConfig
	}
	e, err := s.editor(env)
	if err != nil {
		return err
	}
	e.Sources.Named = true // the servers are checked, also in a file that nobody trusts
	var added []string
	keep := e.Accept
	e.Accept = func(before, after *config.File) error {
		yes, err := len(added) == 0, error(nil)
		if !yes {
			yes, err = agree()
		}
		switch {
		case err != nil:
			return err
		case !yes:
			return errors.New("nothing was written")
		}
		return keep(before, after)
	}
	_, err = e.Edit(env.Config, func(text []byte) (_ []byte, err error) {
		text, added, err = addServers(e.Schema, env.Config, text, servers)
		return text, err
	})
	if err != nil {
		return err
	}
	if err := s.consentToImport(env, added); err != nil {
		return err
	}
	fmt.Printf("%s: added %s\n", env.Config, visible(listOr(added, "nothing")))
	return nil
}

// addServers puts those that are not there yet into the text of agent.yml, and
// shows what they run.
func addServers(schema *config.Schema, path string, text []byte, servers map[string]map[string]any) ([]byte, []string, error) {
	present, err := presentServers(schema, path)
	if err != nil {
		return nil, nil, err
	}
	known := serverOptions()
	var added []string
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
		if left := leaveDecisions(options); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "%s: %s: yours to decide, left out; what you want of it you can write under plugins.mcp.servers.%s in agent.yml\n",
				visible(name), strings.Join(left, ", "), visible(name))
		}
		if text, err = schema.Set(text, []string{"plugins", "mcp", "servers", name}, options); err != nil {
			return nil, nil, err
		}
		showImport(os.Stderr, name, options)
		added = append(added, name)
	}
	return text, added, nil
}

// decisions are the options that say how far a server is believed and where it
// may lead us. Another's file decides that for nobody.
var decisions = []string{"trusted", "pin", "allow", "schemaMismatch"}

// leaveDecisions takes them out of an entry and names them. A new name for a
// tool is one: rules of policy go by names.
func leaveDecisions(options map[string]any) (left []string) {
	for _, key := range decisions {
		if _, there := options[key]; there {
			delete(options, key)
			left = append(left, key)
		}
	}
	tools, _ := options["tools"].(map[string]any)
	if _, there := tools["rename"]; there {
		delete(tools, "rename")
		left = append(left, "tools.rename")
	}
	return left
}

// showImport says what a server would be, as the file writes it.
func showImport(w io.Writer, name string, options map[string]any) {
	raw, err := json.Marshal(options)
	if err != nil {
		return
	}
	var cfg struct {
		Command, URL, Cwd string
		Args              []string
		Env               map[string]string
	}
	_ = json.Unmarshal(raw, &cfg) // what does not fit is refused with its place
	what := "reaches " + cfg.URL
	if cfg.Command != "" {
		what = "runs " + mcp.ServerConfig{Command: cfg.Command, Args: cfg.Args, Env: cfg.Env, Cwd: cfg.Cwd}.CommandLine()
	}
	fmt.Fprintf(w, "%s %s\n", visible(name), toolpolicy.VisibleLine(what))
}

// consentToImport records consent to what the added servers run, as agent.yml
// says it now.
func (s *settings) consentToImport(env environment, added []string) error {
	f, _, err := trust.ReadFile(env.Config)
	if err != nil {
		return err
	}
	servers, secrets := s.serversOf(env, f)
	maps.DeleteFunc(servers, func(name string, _ mcp.ServerConfig) bool { return !slices.Contains(added, name) })
	return mcp.Consent(env.Paths, userName()+" by agentd mcp import", servers, secrets)
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
	for name := range mcpServers(doc) {
		present[name] = true
	}
	return present, nil
}

func listOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
