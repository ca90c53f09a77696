package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/agentd-host/agentd/core/schema"
)

// PolicyValues are what a rule of tools.policy may say, from the loosest to
// the strictest.
var policyValues = [...]string{"auto", "ask", "ask!", "off"}

var effects = []string{"read", "write", "exec"}

// CheckPattern says what is wrong with a pattern of tools.policy; nil if it is
// one of: a tool's name or a glob of names (*, ?), perhaps followed by a
// pattern of arguments in parentheses; effect:read|write|exec; server:NAME;
// group:LABEL.
func CheckPattern(pattern string) error {
	if kind, label, ok := strings.Cut(pattern, ":"); ok && !strings.ContainsAny(kind, "(*?") {
		return checkLabel(kind, label)
	}
	name, args, hasArgs := strings.Cut(pattern, "(")
	if err := checkGlob(name); err != nil {
		return err
	}
	if !hasArgs {
		return nil
	}
	inner, closed := strings.CutSuffix(args, ")")
	switch {
	case !closed:
		return errors.New("the parenthesis is never closed; want name(arguments)")
	case strings.TrimSpace(inner) == "":
		return errors.New("nothing between the parentheses; leave them out, or say which arguments")
	case strings.IndexFunc(inner, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return errors.New("the arguments hold a character that does not print")
	}
	return nil
}

func checkLabel(kind, label string) error {
	switch kind {
	case "effect":
		for _, e := range effects {
			if label == e {
				return nil
			}
		}
		return fmt.Errorf("want effect:read, effect:write or effect:exec, got %q%s",
			printable(label, 40), didYouMean(label, effects))
	case "server", "group":
		if label == "" || strings.IndexFunc(label, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) >= 0 {
			return fmt.Errorf("want a name without spaces after %s:", kind)
		}
		return nil
	}
	kinds := []string{"effect", "server", "group"}
	return fmt.Errorf("want a tool's name, a glob, effect:, server: or group:, got %q%s",
		printable(kind, 40)+":", didYouMean(kind, kinds))
}

func checkGlob(glob string) error {
	if glob == "" {
		return errors.New("want a tool's name or a glob")
	}
	if len(glob) > 128 {
		return errors.New("longer than any tool's name")
	}
	for _, r := range glob {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("_-*?", r) {
			return fmt.Errorf("names of tools are letters, digits, _ and -, and globs have * and ?; got %q", r)
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
