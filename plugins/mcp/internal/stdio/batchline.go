package stdio

import (
	"path/filepath"
	"strings"
)

// isBatch reports whether a program is a script of cmd.exe, which Windows
// can't start by itself.
func isBatch(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cmd", ".bat":
		return true
	}
	return false
}

// batchLine builds the command line that runs a script through cmd.exe. The
// script sees each argument as it was given: it is quoted as programs read
// it, and then every character that cmd.exe would act on is escaped, twice,
// because the line is read once by cmd.exe and once more by the script's own
// "%*".
func batchLine(shell, script string, args []string) string {
	parts := []string{caret(quoteArg(script))}
	for _, arg := range args {
		parts = append(parts, caret(caret(quoteArg(arg))))
	}
	return quoteArg(shell) + ` /d /s /v:off /c "` + strings.Join(parts, " ") + `"`
}

// quoteArg puts an argument in quotes as CommandLineToArgvW reads them.
func quoteArg(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\n\v\"&|<>^%!()") {
		return arg
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			slashes++
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, 2*slashes+1))
		default:
			b.WriteString(strings.Repeat(`\`, slashes))
		}
		slashes = 0
		b.WriteByte(arg[i])
	}
	b.WriteString(strings.Repeat(`\`, 2*slashes))
	b.WriteByte('"')
	return b.String()
}

// caret escapes what cmd.exe acts on, the quotes included, so that for it
// nothing is quoted.
func caret(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`()%!^"<>&|`, s[i]) >= 0 {
			b.WriteByte('^')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
