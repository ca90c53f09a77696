package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/pattern"
	"github.com/agentd-host/agentd/core/schema"
)

// policyValues are what a rule of tools.policy may say, from the loosest to
// the strictest.
var policyValues = [...]string{"auto", "ask", "ask!", "off"}

// CheckPattern says what is wrong with a pattern of tools.policy; nil if it
// is one. See package pattern.
func CheckPattern(text string) error {
	_, err := pattern.Parse(text)
	return err
}

func checkGlob(glob string) error {
	if glob == "" {
		return errors.New("want a tool's name or a glob")
	}
	for _, r := range glob {
		if !only(string(r), "_-.*?") {
			return fmt.Errorf("names of tools are letters, digits, _ - and ., and globs have * and ?; got %q", r)
		}
	}
	return nil
}

func didYouMean(name string, candidates []string) string {
	if near := schema.Nearest(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// checkPolicy reads the value of a rule. variable says that it is text that
// came from a variable, so that "false" is YAML's false.
func checkPolicy(v any, variable bool) (string, error) {
	switch v := v.(type) {
	case bool:
		if !v {
			return "off", nil
		}
		return "", errors.New("want auto, ask or off, got true; write auto to let it run without asking")
	case string:
		for _, p := range policyValues {
			if v == p {
				return p, nil
			}
		}
		switch strings.ToLower(v) {
		case "false":
			if variable {
				return "off", nil
			}
		case "on", "yes", "true", "allow":
			return "", fmt.Errorf("want auto, ask or off, got %q; write auto to let it run without asking", v)
		case "no", "deny":
			return "", fmt.Errorf("want auto, ask or off, got %q; write off to refuse it", v)
		}
		return "", fmt.Errorf("want auto, ask or off, got %q%s", printable(v, 40), didYouMean(v, policyValues[:]))
	}
	return "", fmt.Errorf("want auto, ask or off, got %s", kindOfValue(v))
}

// kindOfValue names the kind of a value without showing it.
func kindOfValue(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case nil:
		return "nothing"
	}
	return "a number"
}
