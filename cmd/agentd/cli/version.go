package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// module is one module that this binary was built from.
type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"`
}

// version is what this binary is.
type version struct {
	Version string   `json:"version"`
	Go      string   `json:"go"`
	System  string   `json:"system"`
	Plugins []string `json:"plugins"`
	Modules []module `json:"modules"`
}

func newVersion(s *settings) *cobra.Command {
	var asJSON, modules bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what is compiled in",
		Example: "  agentd version --modules",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			for _, p := range s.plugins {
				v.Plugins = append(v.Plugins, p.Info().Name)
			}
			return show(os.Stdout, asJSON, v, func(w io.Writer, v version) { printVersion(w, v, modules) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&modules, "modules", false, "list the modules with their checksums")
	return c
}

func readVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		v.Modules = append(v.Modules, module{m.Path, m.Version, m.Sum})
	}
	return v
}

func printVersion(w io.Writer, v version, modules bool) {
	fmt.Fprintf(w, "agentd %s (%s, %s)\n", v.Version, v.Go, v.System)
	for _, p := range v.Plugins {
		fmt.Fprintf(w, "plugin %s\n", p)
	}
	if !modules {
		return
	}
	for _, m := range v.Modules {
		fmt.Fprintf(w, "module %s %s %s\n", m.Path, m.Version, m.Sum)
	}
}
