package plugins_test

import (
	"testing"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
	"github.com/agentd-host/agentd/plugins"
)

// A tag that the schema drops in silence would promise what is not checked.
func TestConfigTypesSayNothingInVain(t *testing.T) {
	for _, p := range plugins.Standard() {
		for _, err := range config.Lint(loader.Describe(p)) {
			t.Error(err)
		}
	}
}
