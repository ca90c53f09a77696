package config

import (
	"errors"
	"fmt"
	"strings"
)

// set adds the settings of the command line, each path=value. A path is
// written as in errors, tools.policy."mcp__a.b*"; a value that begins with
// [ or { is YAML, any other is text that takes the type that is wanted.
func (l *load) set() {
	for _, text := range l.src.Set {
		steps, value, err := cutSetting(text)
		if err != nil {
			l.issues.add(Issue{Source: "--set " + strings.SplitN(text, "=", 2)[0], Message: err.Error()})
			continue
		}
		s := &setting{load: l, source: "--set " + display(steps), value: value,
			out: newLayer("--set", false)}
		if err := s.apply(steps); err != nil {
			l.issues.add(Issue{Source: s.source, Message: err.Error()})
			continue
		}
		l.addMap(s.out)
	}
}

func display(steps []string) string {
	shown := ""
	for _, s := range steps {
		shown = displayKey(shown, s)
	}
	return shown
}

// cutSetting splits path=value; an equals sign in quotes belongs to the path.
func cutSetting(text string) (steps []string, value string, err error) {
	rest := text
	for {
		step, after, ok := cutSegment(rest)
		if !ok || strings.Contains(step, sep) {
			return nil, "", errors.New(`want path=value, as in plugins.agent.model=auto or tools.policy."a*"=off`)
		}
		steps = append(steps, step)
		switch {
		case strings.HasPrefix(after, "="):
			if strings.IndexFunc(after, badInValue) >= 0 {
				return nil, "", errors.New("the value holds a control character")
			}
			return steps, after[1:], nil
		case strings.HasPrefix(after, "."):
			rest = after[1:]
		default:
			return nil, "", errors.New("there is no = after the path")
		}
	}
}

// setting is one path=value on its way into a layer.
type setting struct {
	load   *load
	source string
	value  string
	out    *layer
}

func (s *setting) apply(steps []string) error {
	merged := s.load.merged()
	switch {
	case steps[0] == "version" && len(steps) == 1:
		return s.put(s.out.root, "", steps, "")
	case steps[0] == "tools" && len(steps) == 3 && steps[1] == "policy":
		return s.put(s.out.root, "", steps, "")
	case steps[0] == "plugins" && len(steps) > 1:
		below, _ := merged[steps[0]].(map[string]any)
		m := map[string]any{}
		s.out.root[steps[0]] = m
		return s.entry(m, below, steps[0], steps[1:], steps[0])
	}
	return fmt.Errorf("no such setting; want plugins.<plugin>.<option> or tools.policy.<pattern>%s",
		didYouMean(steps[0], topKeys))
}

func (s *setting) entry(m, below map[string]any, path string, steps []string, shown string) error {
	k, err := parseEntryKey(steps[0])
	if err != nil && below[steps[0]] == nil {
		return err
	}
	e := s.load.schema.identify(k)
	if below[k.name] != nil && k.id == "" {
		e.id = k.name
	}
	have, exists := below[e.id].(map[string]any)
	entry := map[string]any{}
	if exists && k.id == "" {
		e.plugin, _ = have[fieldPlugin].(string)
	} else {
		entry[fieldPlugin] = e.plugin
	}
	if k.disabled || !exists || len(steps) == 1 {
		entry[fieldDisabled] = k.disabled
	}
	options := map[string]any{}
	for key, v := range e.implied {
		if !exists {
			options[key] = v
		}
	}
	entry[fieldConfig] = options
	m[e.id] = entry
	at, shownAt := join(path, e.id), displayKey(shown, strings.TrimPrefix(steps[0], "~"))
	s.note(path, e.id, shownAt)
	switch {
	case len(steps) == 1:
		return s.whole(entry, join(at, fieldConfig), shownAt)
	case e.plugin == GroupName && steps[1] == "plugins" && len(steps) > 2:
		inner := map[string]any{}
		options["plugins"] = inner
		old, _ := have[fieldConfig].(map[string]any)
		nested, _ := old["plugins"].(map[string]any)
		return s.entry(inner, nested, join(join(at, fieldConfig), "plugins"), steps[2:], displayKey(shownAt, "plugins"))
	}
	return s.put(options, join(at, fieldConfig), steps[1:], shownAt)
}

// whole sets all options of an entry: plugins.x={a: 1}.
func (s *setting) whole(entry map[string]any, path, shown string) error {
	v, err := s.parsed(path, shown)
	if err != nil {
		return err
	}
	options, ok := v.(map[string]any)
	if !ok {
		return errors.New("want a mapping of options, as in {}")
	}
	entry[fieldConfig] = options
	return nil
}

// put sets the value at the end of steps, making the mappings on the way.
func (s *setting) put(m map[string]any, path string, steps []string, shown string) error {
	for i, step := range steps {
		shown = displayKey(shown, step)
		s.note(path, step, shown)
		path = join(path, step)
		if i < len(steps)-1 {
			inner := map[string]any{}
			m[step] = inner
			m = inner
			continue
		}
		v, err := s.parsed(path, shown)
		if err != nil {
			return err
		}
		m[step] = v
	}
	return nil
}

func (s *setting) note(path, key, shown string) {
	s.out.note(path, key, &origin{source: s.source, shown: shown, raw: true})
}

func (s *setting) parsed(path, shown string) (any, error) {
	if !strings.HasPrefix(s.value, "{") && !strings.HasPrefix(s.value, "[") {
		return s.value, nil
	}
	root, err := parse(s.source, []byte(s.value))
	if err != nil || root == nil {
		return nil, errors.New("the value begins like YAML and is none; check brackets and quotes")
	}
	out := newLayer("", false)
	var issues collector
	w := newWalker(s.source, s.load.schema, &issues, out)
	v, _ := w.value(root, place{path: path, shown: shown})
	if len(issues.issues) > 0 {
		return nil, errors.New(issues.issues[0].text())
	}
	for at, o := range out.at {
		s.out.at[at] = &origin{source: s.source, shown: o.shown}
	}
	return v, nil
}
