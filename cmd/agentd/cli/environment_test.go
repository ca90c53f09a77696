//go:build unix

package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder is a home of its own, and a working folder below it.
func inFolder(t *testing.T) (root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "project/deep/er"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("AGENTD_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("AGENTD_CONFIG", "")
	t.Chdir(filepath.Join(root, "project/deep/er"))
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEnvironment_FindsTheConfig(t *testing.T) {
	root := inFolder(t)
	env, err := findEnvironment("")
	if err != nil || env.Config != "" || env.Dir != filepath.Join(root, "project/deep/er") {
		t.Errorf("without a file: %+v, %v", env, err)
	}
	if want := filepath.Join(root, "home/.local/state/agentd"); env.State != want {
		t.Errorf("state %s, want %s", env.State, want)
	}
	if info, err := os.Stat(env.State); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state folder: %v, %v", info, err)
	}

	write(t, filepath.Join(root, "project/agent.yaml"), "plugins: {}")
	if env, err = findEnvironment(""); err != nil || env.Config != filepath.Join(root, "project/agent.yaml") || env.named {
		t.Errorf("walking up: %+v, %v", env, err)
	}
	write(t, filepath.Join(root, "project/agent.yml"), "plugins: {}")
	if env, err = findEnvironment(""); err != nil || env.Config != filepath.Join(root, "project/agent.yml") ||
		env.Dir != filepath.Join(root, "project") {
		t.Errorf("agent.yml before agent.yaml: %+v, %v", env, err)
	}
	if env, err = findEnvironment("../mine.yml"); err != nil || env.Config != filepath.Join(root, "project/deep/mine.yml") || !env.named {
		t.Errorf("named: %+v, %v", env, err)
	}
	t.Setenv("AGENTD_CONFIG", "/etc/agentd.yml")
	if env, err = findEnvironment(""); err != nil || env.Config != "/etc/agentd.yml" || !env.named {
		t.Errorf("named by the environment: %+v, %v", env, err)
	}
}

func TestE27_StateFolderOfOthersIsRefused(t *testing.T) {
	root := inFolder(t)
	loose := filepath.Join(root, "loose")
	if err := os.Mkdir(loose, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(loose, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AGENTD_HOME", loose)
	if _, err := findEnvironment(""); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a folder that all may write to: %v", err)
	}
	file := filepath.Join(root, "file")
	write(t, file, "")
	t.Setenv("AGENTD_HOME", file)
	if _, err := findEnvironment(""); err == nil {
		t.Error("a file as state folder was taken")
	}
	if os.Getuid() != 0 {
		return // only root can make a folder of somebody else
	}
	foreign := filepath.Join(root, "foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(foreign, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	if err := ownFolder(foreign); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("a folder of another user: %v", err)
	}
}

func TestEnvironment_SocketPathFitsWhateverTheFolder(t *testing.T) {
	root := inFolder(t)
	for _, state := range []string{filepath.Join(root, "s"), filepath.Join(root, strings.Repeat("deep", 60))} {
		t.Setenv("AGENTD_HOME", state)
		t.Setenv("TMPDIR", os.TempDir())
		one, err := findEnvironment("one.yml")
		if err != nil {
			t.Fatal(err)
		}
		two, err := findEnvironment("two.yml")
		if err != nil {
			t.Fatal(err)
		}
		path, err := one.socketPath()
		if err != nil {
			t.Fatal(err)
		}
		other, err := two.socketPath()
		if err != nil || other == path {
			t.Errorf("two configs share %s, %v", path, err)
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Errorf("%d characters: %v", len(path), err)
			continue
		}
		l.Close()
	}
}
