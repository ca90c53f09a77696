package cli

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

//go:embed templates/*.tmpl
var skeletons embed.FS

// skeleton is what the templates of a plugin need.
type skeleton struct {
	Name, Package, Tool, Title string
}

func newPluginsNew() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the skeleton of a plugin, with a test",
		Long: "new writes a Go package of two files, a plugin that works and its test, into a\n" +
			"folder of the plugin's name. Plugins are compiled in: the program that it is\n" +
			"for names it beside the standard set,\n\n" +
			"  func main() { os.Exit(cli.Main(plugins.Standard(), cli.Plugin(weather.Plugin))) }",
		Example: "  agentd plugins new weather",
		Args:    wantArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := newSkeleton(args[0])
			if err != nil {
				return usageError(err)
			}
			if dir == "" {
				dir = s.Package
			}
			return s.write(dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the folder to write; default: the plugin's name")
	return c
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func newSkeleton(name string) (skeleton, error) {
	if !pluginName.MatchString(name) || len(name) > 40 {
		return skeleton{}, fmt.Errorf("plugin name %q: want small letters, digits and single dashes, as in weather", name)
	}
	s := skeleton{
		Name: name, Package: strings.ReplaceAll(name, "-", ""), Tool: strings.ReplaceAll(name, "-", "_"),
		Title: strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " "),
	}
	if token.IsKeyword(s.Package) {
		return skeleton{}, fmt.Errorf("plugin name %q is a word of Go's: choose another", name)
	}
	return s, nil
}

// write writes the files; it changes none that is there.
func (s skeleton) write(dir string) error {
	files := map[string]string{"plugin.go.tmpl": s.Package + ".go", "plugin_test.go.tmpl": s.Package + "_test.go"}
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s is there already; nothing was written", filepath.Join(dir, name))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	all, err := template.ParseFS(skeletons, "templates/*.tmpl")
	if err != nil {
		return err
	}
	for _, tmpl := range []string{"plugin.go.tmpl", "plugin_test.go.tmpl"} {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, tmpl, s); err != nil {
			return err
		}
		path := filepath.Join(dir, files[tmpl])
		if err := writeNew(path, text.Bytes()); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
