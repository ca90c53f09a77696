package config

import (
	"strconv"
	"strings"
)

// sep joins the segments of an internal path. No key can hold it, because
// control characters are refused in files, environment and command line.
const sep = "\x00"

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + sep + key
}

func joinIndex(path string, i int) string { return join(path, "#"+strconv.Itoa(i)) }

// displayKey appends key to a path as people write it: segments that hold
// more than letters, digits and a few signs are quoted.
func displayKey(path, key string) string {
	if !plainKey(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func displayIndex(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// place is where a walk is: the path that the layers know it by, how a person
// is shown it, and how deep that is.
type place struct {
	path, shown string
	depth       int
}

func (at place) child(key string) place {
	return place{join(at.path, key), displayKey(at.shown, key), at.depth + 1}
}

func (at place) item(i int) place {
	return place{joinIndex(at.path, i), displayIndex(at.shown, i), at.depth + 1}
}

// deeper is the same place, one level down.
func (at place) deeper() place {
	at.depth++
	return at
}

func plainKey(key string) bool {
	if key == "" {
		return false
	}
	return strings.IndexFunc(key, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("_-:~@/", r)
	}) < 0
}

// cutSegment cuts the first segment off a path as people write it: segments
// separated by dots, each bare or in double quotes.
func cutSegment(text string) (segment, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", false
		}
		segment, err = strconv.Unquote(quoted)
		return segment, text[len(quoted):], err == nil && segment != ""
	}
	end := strings.IndexAny(text, ".=")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], end > 0
}
