package command

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// passed are the variables that a command gets from agentd's own environment
// without being asked for: what programs need to find their files and to
// speak the user's language, none that holds a key.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	// Windows does not start most programs without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "NUMBER_OF_PROCESSORS",
	"PROCESSOR_ARCHITECTURE",
}

// quiet keeps programs from waiting for a person who is not there. Only who
// allows one of these names itself passes his own value.
var quiet = []string{"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}

// secretWords mark variables that a glob never lets through; a name that is
// written out does.
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"}

// CheckEnv refuses what cannot be the name of a variable or a glob for one.
func CheckEnv(names []string) error {
	for _, name := range names {
		if _, err := path.Match(name, ""); err != nil || name == "" || strings.ContainsAny(name, "=\x00/") {
			return fmt.Errorf("env: %q is neither the name of a variable nor a pattern such as NPM_*", name)
		}
	}
	return nil
}

// environment picks from environ, in the form of os.Environ, what a command
// may see: the usual names and those in allow. The result is sorted.
func environment(environ, allow []string) []string {
	var env []string
	for _, pair := range environ {
		name, _, ok := strings.Cut(pair, "=")
		if !ok || name == "" || isQuiet(name) && !slices.Contains(allow, name) {
			continue
		}
		if allowed(name, passed) || allowed(name, allow) {
			env = append(env, pair)
		}
	}
	for _, pair := range quiet {
		if name, _, _ := strings.Cut(pair, "="); !slices.Contains(allow, name) {
			env = append(env, pair)
		}
	}
	slices.Sort(env)
	return env
}

func isQuiet(name string) bool {
	return slices.ContainsFunc(quiet, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

func allowed(name string, patterns []string) bool {
	name = envFold(name)
	for _, pattern := range patterns {
		pattern = envFold(pattern)
		if pattern == name {
			return true
		}
		if ok, _ := path.Match(pattern, name); ok && !looksSecret(name) {
			return true
		}
	}
	return false
}

func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}
