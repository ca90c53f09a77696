package skills

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/agentd-host/agentd/core"
)

const (
	maxFile        = 256 << 10 // bytes of a SKILL.md
	maxFrontMatter = 16 << 10  // bytes of it between the dashes
	maxDescription = 1024      // bytes
)

var legalName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$`)

// check says what is wrong with a skill.
func check(s core.Skill) error {
	switch {
	case !legalName.MatchString(s.Name):
		return fmt.Errorf("name %q: want up to 64 letters, digits, - and _", s.Name)
	case strings.TrimSpace(s.Description) == "":
		return errors.New("no description: say in a sentence what the skill is for and when to use it")
	case len(s.Description) > maxDescription:
		return fmt.Errorf("description is longer than %d bytes", maxDescription)
	case strings.TrimSpace(s.Text) == "":
		return errors.New("no text")
	}
	return nil
}

// parse reads a SKILL.md that lies in a folder of the given name. The name in
// the front matter may be left out; keys other than name and description are
// for other programs.
func parse(folder string, data []byte) (core.Skill, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > maxFile:
		return core.Skill{}, fmt.Errorf("larger than %d bytes", maxFile)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return core.Skill{}, errors.New("not a text in UTF-8")
	}
	front, text, err := split(strings.ReplaceAll(string(data), "\r\n", "\n"))
	if err != nil {
		return core.Skill{}, err
	}
	s := core.Skill{Name: folder, Text: strings.TrimSpace(text) + "\n"}
	if err := readFront(front, &s); err != nil {
		return core.Skill{}, err
	}
	return s, check(s)
}

// split cuts a text into what stands between the first two lines of three
// dashes, and what follows.
func split(text string) (front, rest string, err error) {
	body, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", errors.New(`does not begin with "---", a name and a description (front matter)`)
	}
	at := strings.Index("\n"+body, "\n---\n")
	switch {
	case at >= 0:
		front, rest = body[:at], body[at+len("---\n"):]
	case strings.HasSuffix("\n"+body, "\n---"):
		front = strings.TrimSuffix(body, "---")
	default:
		return "", "", errors.New(`the front matter has no closing "---"`)
	}
	if len(front) > maxFrontMatter {
		return "", "", fmt.Errorf("the front matter is larger than %d bytes", maxFrontMatter)
	}
	return front, rest, nil
}

// readFront takes name and description from the front matter. It reads nodes
// only, so that nothing in the file is expanded or made into a type.
func readFront(front string, s *core.Skill) error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		return fmt.Errorf("front matter: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return errors.New("front matter: want lines of key: value")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		var into *string
		switch key.Value {
		case "name":
			into = &s.Name
		case "description":
			into = &s.Description
		default:
			continue
		}
		if value.Kind != yaml.ScalarNode {
			// The first line of the file is line 1, the dashes.
			return fmt.Errorf("line %d: %s: want a text", value.Line+1, key.Value)
		}
		*into = strings.Join(strings.Fields(value.Value), " ")
	}
	return nil
}
