package workspace

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// guardedPermission is what a call needs, beside its tool's own permission,
// to change agent.yml, .agentd, .git and the like.
const guardedPermission = "workspace:guarded"

// permissions are what a call of a tool on the named file needs.
func (f *folder) permissions(tool, name string, effect core.Effect) []core.Permission {
	need := []core.Permission{{Name: "tool:" + tool, Target: name}}
	if effect == core.Write && f.isGuarded(name) {
		need = append(need, core.Permission{Name: guardedPermission, Target: name})
	}
	return need
}

// lexical is resolve without a look at the disk.
func (f *folder) lexical(p string) (string, error) {
	if err := checkText(p); err != nil {
		return "", err
	}
	rel, err := f.relative(p)
	if err != nil {
		return "", err
	}
	depth := 0
	for _, part := range strings.Split(rel, "/") {
		if depth += step(part); depth < 0 {
			return "", f.outside(p)
		}
	}
	return path.Clean("./" + rel), nil
}

func step(part string) int {
	switch part {
	case "", ".":
		return 0
	case "..":
		return -1
	}
	return 1
}

// commandPermission names each program that the arguments would start, as the
// line of its words. A shell line that cannot be told apart with certainty
// counts, in addition, as one run of the shell.
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
		return []core.Permission{{Name: "tool:run_command", Target: wordLine(argv)}}, nil
	}
	commands, ok := shellCommands(in.Command)
	if !ok {
		commands = append(commands, wordLine([]string{"sh", "-c", in.Command}))
	}
	need := make([]core.Permission, len(commands))
	for i, line := range commands {
		need[i] = core.Permission{Name: "tool:run_command", Target: line}
	}
	return need, nil
}
