package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/coretest"
)

type knownSecrets []string

func (k knownSecrets) Secrets() []string { return k }

func TestE26_ValuesThatOnlyBeginLikePathsAreSecret(t *testing.T) {
	t.Setenv("SOME_API_KEY", "/environment+key")
	cfg := ServerConfig{Env: map[string]string{"API_KEY": "/Zx9secret", "CACHE": "/var/cache/x"}}
	redact := cfg.redactor(func() []string {
		return withoutPaths([]string{"/home/someone", "/environment+key", "of a \"file\"", "longer than of a"})
	})
	for in, want := range map[string]string{
		"key is /Zx9secret":                          "key is ***",
		"no /var/cache/x in /home/someone":           "no /var/cache/x in /home/someone",
		"/environment+key":                           "***",
		"get /%2Fenvironment%2Bkey?x=":               "get /***?x=",
		`of a "file", "of a \"file\""`:               `***, "***"`,
		"https://x.example/of%20a%20%22file%22/more": "https://x.example/***/more",
	} {
		if got := redact(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What the program took from variables is a secret of a server's wherever its
// entry has it.
func TestRule13_E26_SecretsOfTheProgram(t *testing.T) {
	const canary = "canary-7d20e1"
	r := start(t, map[string]ServerConfig{
		"arg":  {Command: "sh", Args: []string{"-c", "echo got $0 >&2; exit 3", canary}},
		"path": {Command: "/no/such/" + canary},
		"url":  {URL: "http://127.0.0.1:9/mcp/" + canary},
	}, coretest.Provide[core.SecretKeeper](core.Secrets, knownSecrets{canary}))
	for _, name := range []string{"arg", "path", "url"} {
		eventually(t, name+" fails", func() bool { return r.status(name).Error != "" })
		res := r.Call("mcp__"+name+"__x", nil)
		status, err := json.Marshal(r.status(name))
		if err != nil || strings.Contains(string(status)+res.Text(), canary) {
			t.Errorf("%s: %s, %v", status, res.Text(), err)
		}
	}
}
