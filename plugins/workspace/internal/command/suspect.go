package command

import (
	"slices"
	"strings"
)

// suspects returns what a line that cannot be told apart may run, as lines of
// words: what stands where a command may begin. It would rather name too much
// than too little, and still can't know what expansions come to.
func suspects(line string) []string {
	s := suspectScanner{in: line}
	s.scan()
	if s.hidden {
		bare := suspectScanner{in: line, bare: true}
		bare.scan()
		s.found = append(s.found, bare.found...)
	}
	return s.found
}

// suspectScanner reads a line once, from left to right.
type suspectScanner struct {
	in   string
	pos  int
	bare bool // quotes and escapes mean nothing

	word   strings.Builder
	inWord bool
	file   bool // the next word is what a redirection names
	braces int  // open ones that belong to words
	words  []string
	found  []string
	hidden bool // quotes hide something that the shell reads as commands
}

func (s *suspectScanner) scan() {
	for s.pos < len(s.in) {
		s.step()
	}
	s.endCommand()
}

func (s *suspectScanner) step() {
	c := s.in[s.pos]
	s.pos++
	switch {
	case strings.IndexByte(" \t$", c) >= 0, c == ',' && s.braces > 0:
		s.endWord()
	case strings.IndexByte("\n;&|()`", c) >= 0:
		s.endCommand()
	case strings.IndexByte(`'"\`, c) >= 0:
		s.quote(c)
	case c == '{' || c == '}':
		s.brace(c)
	case c == '<' || c == '>':
		s.redirection(c)
	case c == '#' && !s.inWord && !s.bare:
		s.upTo('\n')
	default:
		s.add(c)
	}
}

func (s *suspectScanner) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

// upTo reads up to c, which is taken as read, or to the end.
func (s *suspectScanner) upTo(c byte) string {
	text, _, _ := strings.Cut(s.in[s.pos:], string(c))
	s.pos = min(s.pos+len(text)+1, len(s.in))
	return text
}

func (s *suspectScanner) quote(c byte) {
	switch {
	case s.bare:
	case c == '\'':
		s.inWord = true
		s.word.WriteString(s.upTo(c))
	case c == '"':
		s.doubleQuoted()
	case s.pos < len(s.in):
		if s.in[s.pos] != '\n' {
			s.add(s.in[s.pos])
		}
		s.pos++
	}
}

func (s *suspectScanner) doubleQuoted() {
	s.inWord = true
	for s.pos < len(s.in) {
		c := s.in[s.pos]
		s.pos++
		switch {
		case c == '"':
			return
		case c == '\\' && s.pos < len(s.in):
			c = s.in[s.pos]
			s.pos++
		case c == '$' || c == '`':
			s.hidden = true
		}
		s.add(c)
	}
}

// brace tells a group from braces that belong to a word: those of ${x}, and
// those of {a,b}, which comes to two words.
func (s *suspectScanner) brace(c byte) {
	group := s.pos == len(s.in) || strings.IndexByte(" \t\n", s.in[s.pos]) >= 0
	switch {
	case c == '{' && group && !s.inWord:
		s.endCommand()
		return
	case c == '{':
		s.braces++
	case s.braces > 0:
		s.braces--
	}
	s.endWord()
}

func (s *suspectScanner) redirection(c byte) {
	if strings.Trim(s.word.String(), "0123456789") == "" {
		s.word.Reset()
		s.inWord = false
	}
	s.endWord()
	rest := strings.TrimLeft(s.in[s.pos:], "<>&|-")
	s.hidden = s.hidden || c == '<' && strings.HasPrefix(s.in[s.pos:], "<") // a text follows
	s.pos = len(s.in) - len(rest)
	s.file = true
}

func (s *suspectScanner) endWord() {
	if s.inWord && !s.file {
		s.words = append(s.words, s.word.String())
	}
	s.file = s.file && !s.inWord
	s.word.Reset()
	s.inWord = false
}

// maxLeads bounds how many of the words before a program are looked at as
// programs.
const maxLeads = 32

// endCommand names what may run: the words, and those that are left without
// what stands before a program.
func (s *suspectScanner) endCommand() {
	s.endWord()
	words := s.words
	s.words, s.file = nil, false
	last := 0
	for last < len(words) && leads(words, last) {
		last++
	}
	for i := range min(last+1, len(words)) {
		if i > 0 && i < last-maxLeads {
			continue
		}
		s.found = append(s.found, Line(words[i:]))
		s.hidden = s.hidden || readsWords(words[i])
		if _, value, ok := strings.Cut(words[i], "="); ok && s.bare { // of an alias
			s.found = append(s.found, Line(append([]string{value}, words[i+1:]...)))
		}
	}
}

// leads reports whether a program may come after the word at i.
func leads(words []string, i int) bool {
	w := words[i]
	return isShellWord(w) || w == "!" || strings.Contains(w, "=") ||
		i > 0 && (strings.HasPrefix(w, "-") || words[i-1] == "-a")
}

// readsWords reports words that make the shell read others as commands.
func readsWords(word string) bool {
	return slices.Contains([]string{"eval", "trap", "alias"}, word)
}
