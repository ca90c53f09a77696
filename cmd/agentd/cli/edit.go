package cli

import (
	"fmt"
	"os"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
)

// edit changes agent.yml in place. A file that was trusted stays trusted: a
// person asked for this change.
func (s *settings) edit(env environment, change func(*config.Schema, []byte) ([]byte, error)) error {
	if env.Config == "" {
		return errNoConfig
	}
	schema, err := s.schema()
	if err != nil {
		return err
	}
	was, err := os.ReadFile(env.Config)
	if err != nil {
		return err
	}
	text, err := change(schema, was)
	if err != nil {
		return err
	}
	if err := config.WriteFile(env.Config, was, text); err != nil {
		return err
	}
	return keepTrust(env, was, text)
}

// setPolicy writes one rule into agent.yml and says what was done.
func (s *settings) setPolicy(env environment, pattern, value string) (string, error) {
	if _, err := core.ParsePolicy(value); err != nil {
		return "", usageError(fmt.Errorf("policy of %s: %w", pattern, err))
	}
	if err := config.CheckPattern(pattern); err != nil {
		return "", usageError(err)
	}
	err := s.edit(env, func(schema *config.Schema, text []byte) ([]byte, error) {
		return schema.SetPolicy(text, pattern, value)
	})
	return fmt.Sprintf("%s: %s is %s", env.Config, pattern, value), err
}
