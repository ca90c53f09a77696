package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentd-host/agentd/core/schema"
)

// policyValues are what a rule of tools.policy may say, from the loosest to
// the strictest.
var policyValues = [...]string{"auto", "ask", "ask!", "off"}

var effects = []string{"read", "write", "exec"}

// CheckPattern says what is wrong with a pattern of tools.policy; nil if it is
// one of: a tool's name or a glob of names (* and ?); effect:read|write|exec;
// server:NAME; group:LABEL; a permission that a tool computes, such as
// workspace:outside. Arguments in parentheses may follow.
func CheckPattern(pattern string) error {
	if len(pattern) > 1024 {
		return errors.New("longer than 1024 bytes")
	}
	subject, args, hasArgs := strings.Cut(pattern, "(")
	if err := checkSubject(strings.TrimPrefix(subject, "tool:")); err != nil || !hasArgs {
		return err
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

func checkSubject(subject string) error {
	kind, label, ok := strings.Cut(subject, ":")
	if !ok {
		return checkGlob(subject)
	}
	kinds := []string{"effect", "server", "group"}
	switch near := schema.Nearest(kind, kinds); {
	case kind == "effect" && !slices.Contains(effects, label):
		return fmt.Errorf("want effect:read, effect:write or effect:exec, got %q%s",
			printable(label, 40), didYouMean(label, effects))
	case kind == "effect":
	case kind == "server", kind == "group":
		if label == "" || strings.IndexFunc(label, notInLabel) >= 0 {
			return fmt.Errorf("want one name after %s:, without spaces and wild cards", kind)
		}
	case near != "":
		return fmt.Errorf("there is no %q%s", printable(kind, 40)+":", didYouMean(kind, kinds))
	case kind == "" || !only(kind, "_-.") || label == "" || !only(label, "_-.*?:"):
		return fmt.Errorf("want a tool's name, a glob, effect:, server:, group: or a permission, got %q", printable(subject, 40))
	}
	return nil
}

func notInLabel(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("*?()", r)
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
