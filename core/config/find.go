package config

import (
	"os"
	"path/filepath"
)

// FileName is what the configuration of a project is called.
const FileName = "agent.yml"

// Find returns which file to read and whether a person named it: the one
// given, else the one that AGENTD_CONFIG names, else agent.yml in dir or the
// nearest folder above. The path is empty if there is none.
func Find(given, dir string, getenv func(string) string) (path string, named bool) {
	if given != "" {
		return given, true
	}
	if path := getenv("AGENTD_CONFIG"); path != "" {
		return path, true
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		path := filepath.Join(dir, FileName)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// HomeFile returns the user's own file, ~/.agentd/agent.yml, whether it exists
// or not; "" if there is no home folder.
func HomeFile() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".agentd", FileName)
}
