package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. The zero Position means that there is none,
// as for a value that came from the environment.
type Position struct {
	File   string // as given by the caller
	Line   int    // from 1; 0 means that only the file is known
	Column int    // from 1, in characters
}

// String returns file:line:column, as far as they are known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Issue is one thing that is wrong with a configuration, said so that a
// person can change it.
type Issue struct {
	Pos     Position
	Source  string // "env AGENTD_X" or "--set x=y" where there is no file
	Path    string // e.g. tools.policy."mcp__a.b*"; empty for the whole file
	Want    string // what is allowed there; empty if Message says it all
	Got     string // what was found; secrets are described, never shown
	Nearest string // the allowed name closest to what was written, if any is close
	Message string // said instead of want and got
}

// String returns the issue as one line, without a line break.
func (i Issue) String() string {
	var b strings.Builder
	where, path := i.Pos.String(), i.Path
	if i.Source != "" {
		where = i.Source
	}
	if where == "--set "+path {
		path = "" // was said
	}
	for _, s := range []string{where, path} {
		if s != "" {
			b.WriteString(s)
			b.WriteString(": ")
		}
	}
	b.WriteString(i.text())
	return b.String()
}

func (i Issue) text() string {
	text := i.Message
	if i.Want != "" {
		want := "want " + i.Want
		if i.Got != "" {
			want += ", got " + i.Got
		}
		if text != "" {
			text += ": "
		}
		text += want
	}
	if i.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", i.Nearest)
	}
	return text
}

// Errors are all issues of one load, in the order of the file. It is never
// empty when it is returned as an error.
type Errors []Issue

// Error returns one line for each issue.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, issue := range e {
		lines[i] = issue.String()
	}
	return strings.Join(lines, "\n")
}

// In returns the issues as those of the file at path, for a text that was
// looked at without its name.
func (e Errors) In(path string) Errors {
	out := slices.Clone(e)
	for i := range out {
		out[i].Pos.File = path
	}
	return out
}

// maxIssues bounds what one load reports: a file in the wrong format would
// otherwise fill the screen.
const maxIssues = 50

// collector gathers the issues of all steps of a load.
type collector struct{ issues Errors }

func (c *collector) add(i Issue) { c.issues = append(c.issues, i) }

func (c *collector) at(pos Position, path, format string, args ...any) {
	c.add(Issue{Pos: pos, Path: path, Message: fmt.Sprintf(format, args...)})
}

// err returns what was gathered, sorted by place, or nil.
func (c *collector) err() error {
	if len(c.issues) == 0 {
		return nil
	}
	all := slices.Clone(c.issues)
	slices.SortStableFunc(all, func(a, b Issue) int {
		return cmp.Or(
			cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	all = slices.Compact(all)
	if extra := len(all) - maxIssues; extra > 0 {
		last := all[maxIssues-1].Pos
		all = append(all[:maxIssues:maxIssues], Issue{
			Pos: Position{File: last.File}, Message: fmt.Sprintf("%d more issues", extra)})
	}
	return all
}
