package stdio

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// inherited are the variables that a program needs to find its way about.
// Everything else, provider keys above all, stays with us.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT",
	"PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Environ returns the environment of a server, sorted: the few variables that
// every program gets, taken from parent (in the form of os.Environ), and
// extra, which wins. A parent's value that is an exported shell function is
// left out.
func Environ(parent []string, extra map[string]string) []string {
	vars := map[string]string{}
	for _, kv := range parent {
		name, value, _ := strings.Cut(kv, "=")
		if passes(name) && !strings.HasPrefix(value, "()") {
			vars[name] = value
		}
	}
	maps.Copy(vars, extra)
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

func passes(name string) bool {
	if strings.HasPrefix(name, "LC_") {
		return true
	}
	return slices.ContainsFunc(inherited, func(in string) bool {
		return name == in || (os.PathSeparator == '\\' && strings.EqualFold(name, in))
	})
}
