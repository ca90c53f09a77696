package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentd-host/agentd/core"
)

// configNames are looked for in the working folder and above, in this order.
var configNames = []string{"agent.yml", "agent.yaml"}

// environment is where this process finds and keeps things.
type environment struct {
	core.Paths
	// named: the config file was named by a person (-c or AGENTD_CONFIG), not
	// found by walking.
	named bool
}

// findEnvironment settles all paths. It creates the state folder and nothing
// else; that there is no config file is no error here.
func findEnvironment(configFlag string) (environment, error) {
	var e environment
	home, err := os.UserHomeDir()
	if err != nil {
		return e, fmt.Errorf("no home folder: %w; set HOME", err)
	}
	e.Home = filepath.Join(home, ".agentd")
	if e.State, err = stateFolder(home); err != nil {
		return e, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return e, err
	}
	e.Dir = wd
	if e.Config, e.named = namedConfig(configFlag); !e.named {
		e.Config = walkUp(wd)
	}
	if e.Config == "" {
		return e, nil
	}
	if e.Config, err = filepath.Abs(e.Config); err != nil {
		return e, err
	}
	e.Dir = filepath.Dir(e.Config)
	return e, nil
}

func namedConfig(flag string) (string, bool) {
	if flag != "" {
		return flag, true
	}
	env := os.Getenv("AGENTD_CONFIG")
	return env, env != ""
}

// walkUp looks for a config file in dir and the folders above it.
func walkUp(dir string) string {
	for {
		for _, name := range configNames {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// stateFolder is AGENTD_HOME, else the XDG state folder; made 0700.
func stateFolder(home string) (string, error) {
	dir := os.Getenv("AGENTD_HOME")
	if dir == "" {
		base := os.Getenv("XDG_STATE_HOME")
		if base == "" {
			base = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(base, "agentd")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, privateFolder(dir)
}

// privateFolder makes dir with mode 0700 and refuses one that others may
// write to.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("state folder %s is no folder", dir)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("state folder %s may be written by others: chmod 700 it", dir)
	}
	return nil
}

// errNoConfig says what to do where there is no agent.yml.
var errNoConfig = errors.New("no agent.yml in this folder or above: write one with `agentd init`, or name one with -c FILE")

// runtimeID names what belongs to one config file: its socket and its lock.
func (e environment) runtimeID() string {
	sum := sha256.Sum256([]byte(e.Config))
	return hex.EncodeToString(sum[:8])
}

// maxSocketPath is what fits into a unix socket's address on every system.
const maxSocketPath = 100

// socketPath is where the daemon of this config listens. A state folder too
// deep for a socket's address gets a private folder below the temporary one.
func (e environment) socketPath() (string, error) {
	dir := filepath.Join(e.State, "run")
	if len(dir)+len(e.runtimeID())+6 > maxSocketPath {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("agentd-%d", os.Getuid()))
	}
	if err := privateFolder(dir); err != nil {
		return "", err
	}
	if err := ownFolder(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, e.runtimeID()+".sock"), nil
}
