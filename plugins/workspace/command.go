package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
	"github.com/agentd-host/agentd/internal/procguard"
	"github.com/agentd-host/agentd/plugins/workspace/internal/command"
)

// commandInput is what run_command takes.
type commandInput struct {
	Command string   `json:"command,omitempty" jsonschema_description:"Command line for the shell (sh). Give this or argv."`
	Argv    []string `json:"argv,omitempty" jsonschema_description:"Program and arguments, run without a shell: nothing is expanded. Give this or command."`
	Cwd     string   `json:"cwd,omitempty" jsonschema_description:"Folder to run in, relative to the workspace. Default is the workspace."`
	Stdin   string   `json:"stdin,omitempty" jsonschema_description:"Text for the standard input. Default is an empty input."`
	Timeout float64  `json:"timeout_seconds,omitempty" jsonschema_description:"Seconds after which the command and all that it started are ended."`
}

// commandLimits bound what a command may use.
type commandLimits struct {
	timeout, longest time.Duration    // by default, and at most
	output           int              // bytes kept
	env              []string         // names and globs beyond the usual
	guard            *procguard.Guard // ends those that outlive this process
}

// killGrace is what lies between asking a command to end and killing it.
const killGrace = 2 * time.Second

// argv returns what is executed.
func (in commandInput) argv() ([]string, error) {
	switch {
	case in.Command != "" && len(in.Argv) > 0:
		return nil, errors.New("give command or argv, not both")
	case strings.TrimSpace(in.Command) != "":
		return command.Shell(in.Command), nil
	case len(in.Argv) == 0 || in.Argv[0] == "":
		return nil, errors.New("give a command (for the shell) or argv (a program with its arguments)")
	}
	return in.Argv, nil
}

func (in commandInput) limit(l commandLimits) (time.Duration, error) {
	switch {
	case !(in.Timeout >= 0): // NaN too
		return 0, errors.New("timeout_seconds must not be negative")
	case in.Timeout == 0:
		return l.timeout, nil
	case in.Timeout > l.longest.Seconds():
		return 0, fmt.Errorf("timeout_seconds is at most %g (`maxCommandTimeout`)", l.longest.Seconds())
	}
	return time.Duration(in.Timeout * float64(time.Second)), nil
}

// commandPermission names each program that the arguments would start, as the
// line of its words. A shell line that cannot be told apart with certainty
// counts, in addition, as one run of the shell; what else it names is known
// for this line alone. What the programs could read from their input makes
// each of them one more, so that a rule about a program does not let it be
// fed: `sh < stdin`.
func commandPermission(args json.RawMessage) ([]core.Permission, error) {
	var in commandInput
	if err := schema.Decode(args, &in); err != nil {
		return nil, err
	}
	argv, err := in.argv()
	if err != nil {
		return nil, err
	}
	if in.Command == "" {
		return in.needs(nil, command.Line(argv), in.with()), nil
	}
	var need []core.Permission
	lines, ok := command.Split(in.Command)
	with := in.with()
	if !ok {
		with = append(with, "the line "+digest(in.Command))
	}
	for _, line := range lines {
		need = in.needs(need, line, with)
	}
	if !ok {
		need = in.needs(need, command.Line([]string{"sh", "-c", in.Command}), in.with())
	}
	return need, nil
}

// needs adds what running a line of words needs.
func (in commandInput) needs(need []core.Permission, line string, with []string) []core.Permission {
	p := core.Permission{Name: "tool:run_command", Target: line, With: strings.Join(with, ", ")}
	need = append(need, p)
	if in.Stdin != "" {
		p.Target += " < stdin"
		need = append(need, p)
	}
	return need
}

// with tells what the programs depend on beside their words: the folder and
// the input.
func (in commandInput) with() []string {
	var with []string
	dir := in.Cwd
	if !strings.Contains(dir, "..") { // which links may lead elsewhere
		dir = path.Clean(dir)
	}
	if dir != "." {
		with = append(with, "cwd "+dir)
	}
	if in.Stdin != "" {
		with = append(with, fmt.Sprintf("stdin of %d bytes %s", len(in.Stdin), digest(in.Stdin)))
	}
	return with
}

func digest(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// run executes a command in the folder that it asks for; see
// [command.Program.Run].
func (f *folder) run(ctx context.Context, in commandInput, l commandLimits) (*command.Result, error) {
	argv, err := in.argv()
	if err != nil {
		return nil, err
	}
	limit, err := in.limit(l)
	if err != nil {
		return nil, err
	}
	dir, err := f.commandFolder(in.Cwd)
	if err != nil {
		return nil, err
	}
	p := command.Program{
		Argv: argv, Dir: dir, Stdin: in.Stdin, Env: l.env, Timeout: limit, Grace: killGrace, Output: l.output, Guard: l.guard,
	}
	return p.Run(ctx)
}

// commandFolder returns the absolute path of a folder below the root.
func (f *folder) commandFolder(cwd string) (string, error) {
	name, err := f.resolve(cmp.Or(cwd, "."))
	if err != nil {
		return "", err
	}
	info, err := f.root.Stat(name)
	switch {
	case err != nil:
		return "", plainError(name, err)
	case !info.IsDir():
		return "", fmt.Errorf("cwd: %s is not a folder", name)
	}
	return filepath.Join(f.path, filepath.FromSlash(name)), nil
}

// answerOf is what the model reads: the output, then how it ended.
func answerOf(r *command.Result) string {
	n := notes{cmp.Or(r.Ended, fmt.Sprintf("exit code %d", r.Code))}
	if r.Left && r.Ended == "" {
		n.add("processes that it left behind were ended")
	}
	output := r.Output
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return output + n.String()
}
