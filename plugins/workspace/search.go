package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

// searchInput is what search_files takes.
type searchInput struct {
	Pattern    string `json:"pattern,omitempty" jsonschema_description:"Regular expression (RE2) that a line must match. Without it only names are searched."`
	Name       string `json:"name,omitempty" jsonschema_description:"Glob for the files to look at, as *.go or src/**/*.ts; without a slash it is matched against names."`
	Path       string `json:"path,omitempty" jsonschema_description:"Folder or file to search. Default is the whole workspace."`
	Literal    bool   `json:"literal,omitempty" jsonschema_description:"Take pattern as plain text."`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema_description:"Match upper and lower case alike."`
	Context    int    `json:"context,omitempty" jsonschema_description:"Lines to show before and after each match, at most 20."`
	Limit      int    `json:"limit,omitempty" jsonschema_description:"Most matching lines (or files, without pattern) to show."`
	All        bool   `json:"all,omitempty" jsonschema_description:"Also search what .gitignore excludes."`
}

const (
	maxContext   = 20
	maxShownLine = 400      // bytes shown of a line around the match
	maxSeenLine  = 64 << 10 // bytes of a line that are searched
)

// search looks below the real name start, a folder or a file. It answers
// matching lines as path:line: text, context lines as
// path-line- text, sorted by path. Binary and over-large files are skipped
// and counted.
func (f *folder) search(ctx context.Context, start string, in searchInput) (string, error) {
	if in.Pattern == "" && in.Name == "" {
		return "", fmt.Errorf("give a pattern (for contents), a name (a glob for file names), or both")
	}
	if in.Context < 0 || in.Limit < 0 {
		return "", fmt.Errorf("context and limit must not be negative")
	}
	s, err := newSearch(ctx, f, in)
	if err != nil {
		return "", err
	}
	info, err := f.root.Stat(start)
	if err != nil {
		return "", plainError(start, err)
	}
	w := walker{folder: f, depth: f.limits.depth, all: in.All, visit: s.visit}
	if info.IsDir() {
		err = w.walk(ctx, start)
	} else {
		err = s.visit(start, fs.FileInfoToDirEntry(info))
	}
	if err != nil && err != errStop {
		return "", err
	}
	return s.answer(&w), nil
}

// searching is one search under way.
type searching struct {
	ctx     context.Context
	folder  *folder
	re      *regexp.Regexp         // nil: names only
	name    func(name string) bool // nil: all
	context int
	limit   int
	room    int

	text    strings.Builder
	matches int
	files   int
	more    bool // there may be more than was shown
	binary  int
	large   int
	failed  int
	long    int // lines that were searched in part
}

func newSearch(ctx context.Context, f *folder, in searchInput) (*searching, error) {
	s := &searching{
		ctx: ctx, folder: f, context: min(in.Context, maxContext),
		limit: f.limits.results, room: f.limits.output,
	}
	if in.Limit > 0 {
		s.limit = min(s.limit, in.Limit)
	}
	var err error
	if in.Name != "" {
		if s.name, err = pathGlob(in.Name); err != nil {
			return nil, err
		}
	}
	if in.Pattern != "" {
		s.re, err = compileSearch(in)
	}
	return s, err
}

func compileSearch(in searchInput) (*regexp.Regexp, error) {
	expr := in.Pattern
	if in.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if in.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w (RE2 syntax; literal=true searches plain text)", err)
	}
	return re, nil
}

func (s *searching) visit(name string, entry fs.DirEntry) error {
	if entry.IsDir() || s.name != nil && !s.name(name) {
		return nil
	}
	if s.re == nil {
		return s.show(visible(name)+"\n", true)
	}
	if !entry.Type().IsRegular() {
		return nil
	}
	return s.file(name)
}

// show appends a line of the answer; errStop means that it is full.
func (s *searching) show(line string, match bool) error {
	if match && s.matches == s.limit || s.text.Len()+len(line) > s.room {
		s.more = true
		return errStop
	}
	s.text.WriteString(line)
	if match {
		s.matches++
	}
	return nil
}

func (s *searching) file(name string) error {
	file, info, err := s.folder.open(name)
	if err != nil {
		s.failed++
		return nil
	}
	defer file.Close()
	if info.Size() > s.folder.limits.fileSize {
		s.large++
		return nil
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		s.failed++
		return nil
	case binaryKind(head[:n]) != "":
		s.binary++
		return nil
	}
	before := s.matches
	rest := io.LimitReader(file, s.folder.limits.fileSize)
	err = s.lines(name, newLineReader(io.MultiReader(strings.NewReader(string(head[:n])), rest), maxSeenLine))
	if s.matches > before {
		s.files++
	}
	return err
}

func (s *searching) lines(name string, lines *lineReader) error {
	hits := hitPrinter{search: s, name: visible(name)}
	for number := 1; ; number++ {
		more, err := lines.next()
		if err != nil {
			s.failed++
			return nil
		}
		if !more {
			return nil
		}
		if number%1024 == 0 && s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		if len(lines.line) < lines.length {
			s.long++
		}
		if err := hits.line(number, lines.line, s.re.FindIndex(lines.line)); err != nil {
			return err
		}
	}
}

// hitPrinter shows the matches of one file with the lines around them, each
// line once.
type hitPrinter struct {
	search *searching
	name   string
	before []string // formatted lines that may become context
	after  int      // lines still to be shown after the last match
	last   int      // number of the last line shown
}

func (h *hitPrinter) line(number int, line []byte, at []int) error {
	context := h.search.context
	switch {
	case at != nil:
		return h.hit(number, line, at)
	case h.after > 0:
		h.after--
		h.last = number
		return h.search.show(h.format('-', number, line, nil), false)
	case context > 0:
		if len(h.before) == context {
			h.before = h.before[1:]
		}
		h.before = append(h.before, h.format('-', number, line, nil))
	}
	return nil
}

func (h *hitPrinter) hit(number int, line []byte, at []int) error {
	s := h.search
	if s.matches == s.limit {
		s.more = true
		return errStop
	}
	first := number - len(h.before)
	apart := h.last == 0 || first > h.last+1
	if s.context > 0 && apart && s.text.Len() > 0 {
		if err := s.show("--\n", false); err != nil {
			return err
		}
	}
	for _, text := range h.before {
		if err := s.show(text, false); err != nil {
			return err
		}
	}
	h.before, h.after, h.last = h.before[:0], s.context, number
	return s.show(h.format(':', number, line, at), true)
}

// format cuts a long line to what lies around the match.
func (h *hitPrinter) format(mark byte, number int, line []byte, at []int) string {
	text := string(line)
	if len(text) > maxShownLine {
		from := 0
		if at != nil {
			from = max(0, at[0]-maxShownLine/4)
		}
		end := min(len(text), from+maxShownLine)
		prefix, suffix := "", ""
		if from > 0 {
			prefix = "..."
		}
		if end < len(text) {
			suffix = "..."
		}
		text = prefix + text[from:end] + suffix
	}
	return fmt.Sprintf("%s%c%d%c %s\n", h.name, mark, number, mark, strings.ToValidUTF8(text, "\uFFFD"))
}

func (s *searching) answer(w *walker) string {
	var n notes
	switch {
	case s.more:
		n.add("the first %s; there are more: narrow the pattern, name or path", plural(s.matches, "match"))
	case s.matches == 0:
		n.add("no match")
	case s.re == nil:
		n.add("%s", plural(s.matches, "file"))
	default:
		n.add("%s in %s", plural(s.matches, "matching line"), plural(s.files, "file"))
	}
	if s.binary > 0 {
		n.add("%s skipped", plural(s.binary, "binary file"))
	}
	if s.large > 0 {
		n.add("%s larger than %d bytes skipped", plural(s.large, "file"), s.folder.limits.fileSize)
	}
	if s.failed > 0 {
		n.add("%s could not be read", plural(s.failed, "file"))
	}
	if s.long > 0 {
		n.add("%s searched up to byte %d only", plural(s.long, "long line"), maxSeenLine)
	}
	if w.tooDeep > 0 {
		n.add("nothing below depth %d", s.folder.limits.depth)
	}
	return s.text.String() + append(n, w.notes()...).String()
}
