package command

import (
	"slices"
	"strings"
)

// Split splits a command line of the shell into its simple commands,
// each as a plain line of words. ok is false where the line holds anything
// whose effect its words do not show: expansions, redirections, groups,
// assignments, keywords. The commands are then those that could be told, and
// whatever else the line may run; see suspects.
func Split(line string) (commands []string, ok bool) {
	s := shellScanner{in: line, ok: true}
	for s.pos < len(s.in) {
		s.step()
	}
	s.endCommand()
	if s.ok && len(s.commands) > 0 {
		return s.commands, true
	}
	return unique(append(s.commands, suspects(line)...)), false
}

// unique returns the texts without those that came before, in their order.
func unique(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	return slices.DeleteFunc(texts, func(text string) bool {
		before := seen[text]
		seen[text] = true
		return before
	})
}

// shellScanner reads a command line once, from left to right.
type shellScanner struct {
	in  string
	pos int

	word     strings.Builder
	inWord   bool // also for an empty word, as ""
	words    []string
	commands []string
	ok       bool
}

func (s *shellScanner) step() {
	c := s.in[s.pos]
	s.pos++
	switch c {
	case ' ', '\t':
		s.endWord()
	case '\n', ';', '&', '|':
		s.endCommand()
	case '\'':
		s.quoted()
	case '"':
		s.doubleQuoted()
	case '\\':
		s.escaped()
	case '#':
		if !s.inWord {
			s.comment()
			return
		}
		s.add(c)
	case '$', '`', '<', '>', '(', ')', '{', '}', '*', '?', '[', '~', '!':
		s.ok = false
		s.add(c)
	default:
		s.add(c)
	}
}

func (s *shellScanner) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

func (s *shellScanner) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}

func (s *shellScanner) endCommand() {
	s.endWord()
	if len(s.words) == 0 {
		return
	}
	if isShellWord(s.words[0]) || strings.Contains(s.words[0], "=") {
		s.ok = false
	}
	s.commands = append(s.commands, Line(s.words))
	s.words = nil
}

// quoted reads up to the closing quote; nothing is special in between.
func (s *shellScanner) quoted() {
	s.inWord = true
	end := strings.IndexByte(s.in[s.pos:], '\'')
	if end < 0 {
		s.ok = false
		end = len(s.in) - s.pos
	}
	s.word.WriteString(s.in[s.pos : s.pos+end])
	s.pos = min(s.pos+end+1, len(s.in))
}

func (s *shellScanner) doubleQuoted() {
	s.inWord = true
	for s.pos < len(s.in) {
		c := s.in[s.pos]
		s.pos++
		switch {
		case c == '"':
			return
		case c == '\\' && s.pos < len(s.in) && strings.IndexByte("$`\"\\\n", s.in[s.pos]) >= 0:
			c = s.in[s.pos]
			s.pos++
			if c == '\n' {
				continue
			}
		case c == '$' || c == '`':
			s.ok = false
		}
		s.add(c)
	}
	s.ok = false // no closing quote
}

func (s *shellScanner) escaped() {
	if s.pos == len(s.in) {
		s.ok = false
		return
	}
	if c := s.in[s.pos]; c != '\n' {
		s.add(c)
	}
	s.pos++
}

func (s *shellScanner) comment() {
	end := strings.IndexByte(s.in[s.pos:], '\n')
	if end < 0 {
		end = len(s.in) - s.pos
	}
	s.pos += end
}

// isShellWord reports words that make the shell run something other than the
// program of that name.
func isShellWord(word string) bool {
	switch word {
	case "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
		"function", "select", "time", "coproc", "eval", "exec", ".", "source", "command", "builtin",
		"alias", "trap", "export", "set", "hash", "unset", "readonly", "declare", "local", "typeset":
		return true
	}
	return false
}

// Line joins words so that no word can be taken for two, nor for an
// operator.
func Line(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteWord(word)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(word string) string {
	special := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("-_./:=@%+,^", r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
