package workspace

import (
	"path"
	"strings"

	"github.com/agentd-host/agentd/core"
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
