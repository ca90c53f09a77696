package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Line is the part of a server's entry that says what runs.
type Line struct {
	Command string
	Args    []string
	Env     []string // names, sorted
	Dir     string   // empty: that of agentd
}

// digest identifies the line. All of it is quoted: no two lines share one.
func (l Line) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", l.Command, l.Args, l.Env, l.Dir)
	return hex.EncodeToString(h.Sum(nil))
}

// String is the line as a person reads it: what a shell would take where that
// is plain, quoted with all that is invisible escaped where it is not.
func (l Line) String() string {
	words := []string{word(l.Command)}
	for _, a := range l.Args {
		words = append(words, word(a))
	}
	text := strings.Join(words, " ")
	if len(l.Env) > 0 {
		text += " with " + strings.Join(l.Env, ", ")
	}
	if l.Dir != "" {
		text += " in " + word(l.Dir)
	}
	return text
}

var plain = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_~*-]+$`)

func word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
