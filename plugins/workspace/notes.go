package workspace

import (
	"fmt"
	"strings"
)

// notes are what is said about an answer, in brackets behind it: what was left
// out, and how to get it.
type notes []string

func (n *notes) add(format string, args ...any) {
	*n = append(*n, fmt.Sprintf(format, args...))
}

// String is one line, or nothing.
func (n notes) String() string {
	if len(n) == 0 {
		return ""
	}
	return "[" + strings.Join(n, "; ") + "]\n"
}
