package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// editInput is what edit_file takes.
type editInput struct {
	Path    string `json:"path" jsonschema_description:"File to edit, relative to the workspace."`
	OldText string `json:"old_text" jsonschema_description:"Text to replace, exactly as in the file, with enough lines around it to occur once."`
	NewText string `json:"new_text" jsonschema_description:"Text to put in its place; empty removes it."`
	All     bool   `json:"replace_all,omitempty" jsonschema_description:"Replace every occurrence."`
}

// edit replaces an exact text in the file at the real name, in one step. In a file whose line
// breaks are CRLF, plain line feeds of both texts stand for them.
func (f *folder) edit(ctx context.Context, name string, in editInput) (string, error) {
	f.writes.Lock()
	defer f.writes.Unlock()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	data, info, err := f.readWhole(name)
	if err != nil {
		return "", err
	}
	if kind := binaryKind(data); kind != "" {
		return "", fmt.Errorf("%s is not plain text (%s)", name, kind)
	}
	e, err := newEdit(string(data), in)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(e.after)) > f.limits.fileSize {
		return "", fmt.Errorf("%s would become larger than %d bytes (`maxFileSize`)", name, f.limits.fileSize)
	}
	if err := f.replace(name, []byte(e.after), info); err != nil {
		return "", err
	}
	return "edited " + visible(name) + ": " + e.summary(), nil
}

// edit is a replacement that was found possible.
type edit struct {
	after    string
	old, new string
	lines    []int // where old was, by line in the file before
}

func newEdit(text string, in editInput) (*edit, error) {
	oldText, newText := in.OldText, in.NewText
	if usesCRLF([]byte(text)) {
		oldText, newText = toCRLF(oldText), toCRLF(newText)
	}
	switch {
	case oldText == "":
		return nil, errors.New("old_text is empty: say what to replace, or use write_file")
	case oldText == newText:
		return nil, errors.New("old_text and new_text are the same")
	}
	e := &edit{old: oldText, new: newText, lines: occurrences(text, oldText)}
	switch n := len(e.lines); {
	case n == 0:
		return nil, noMatch(text, oldText)
	case n > 1 && !in.All:
		return nil, fmt.Errorf("old_text occurs %d times (%s): add lines around it, or set replace_all",
			n, atLines(e.lines))
	}
	e.after = strings.ReplaceAll(text, oldText, newText)
	return e, nil
}

// occurrences returns the line of each occurrence, none overlapping.
func occurrences(text, old string) []int {
	var lines []int
	line := 1
	for {
		before, after, found := strings.Cut(text, old)
		if !found {
			return lines
		}
		line += strings.Count(before, "\n")
		lines = append(lines, line)
		line += strings.Count(old, "\n")
		text = after
	}
}

func atLines(lines []int) string {
	const shown = 8
	var b strings.Builder
	b.WriteString("lines ")
	for i, n := range lines[:min(len(lines), shown)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(lines) > shown {
		b.WriteString(", ...")
	}
	return b.String()
}

func (e *edit) summary() string {
	removed, added := lineCount(e.old), lineCount(e.new)
	if n := len(e.lines); n > 1 {
		return fmt.Sprintf("%s replaced (%s)", plural(n, "occurrence"), atLines(e.lines))
	}
	return fmt.Sprintf("line %d, %s replaced by %s", e.lines[0], plural(removed, "line"), plural(added, "line"))
}

// noMatch explains why old is not in text, with the line that comes nearest.
func noMatch(text, old string) error {
	lines := strings.Split(toLF(text), "\n")
	wanted := strings.Split(strings.Trim(toLF(old), "\n"), "\n")
	if at := spacedMatch(lines, wanted); at > 0 {
		return fmt.Errorf("no match for old_text: line %d differs in white space only: %q",
			at, cut(lines[at-1], 200))
	}
	at := nearestLine(lines, wanted)
	if at == 0 {
		return errors.New("no match for old_text: read the file again and copy the text exactly")
	}
	if len(wanted) > 1 && lines[at-1] == firstFull(wanted) {
		return fmt.Errorf("no match for old_text: it begins like line %d, then the file goes on with %q",
			at, cut(firstDifference(lines[at-1:], wanted), 200))
	}
	return fmt.Errorf("no match for old_text; nearest is line %d: %q", at, cut(lines[at-1], 200))
}

// spacedMatch finds wanted among lines when white space does not count; 0 is
// none. Long texts are not worth the time.
func spacedMatch(lines, wanted []string) int {
	bare := make([]string, len(wanted))
	for i, line := range wanted {
		bare[i] = squeeze(line)
	}
	if strings.Join(bare, "") == "" {
		return 0
	}
	for i := 0; i+len(bare) <= len(lines); i++ {
		j := 0
		for j < len(bare) && squeeze(lines[i+j]) == bare[j] {
			j++
		}
		if j == len(bare) {
			return i + 1
		}
	}
	return 0
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// nearestLine returns the line that shares most with the first line of
// wanted, counted from 1, or 0 if none shares half of it.
func nearestLine(lines, wanted []string) int {
	want := squeeze(firstFull(wanted))
	best, at := 0.5, 0
	pairs := bigrams(want)
	for i, line := range lines {
		if score := similarity(pairs, squeeze(cut(line, 1000))); score > best {
			best, at = score, i+1
		}
	}
	return at
}

func firstFull(lines []string) string {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}

func firstDifference(lines, wanted []string) string {
	for i, line := range lines {
		if i >= len(wanted) || line != wanted[i] {
			return line
		}
	}
	return "its end"
}

type bigram [2]byte

func bigrams(s string) map[bigram]int {
	counts := make(map[bigram]int, len(s))
	for i := 0; i+1 < len(s); i++ {
		counts[bigram{s[i], s[i+1]}]++
	}
	return counts
}

// similarity is Dice's coefficient over pairs of neighbouring bytes, 0 to 1.
func similarity(want map[bigram]int, s string) float64 {
	have := bigrams(s)
	total, shared := 0, 0
	for pair, n := range want {
		total += n
		shared += min(n, have[pair])
	}
	for _, n := range have {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(shared) / float64(total)
}
