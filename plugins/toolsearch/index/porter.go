package index

// stem reduces an English word to its stem after Porter's algorithm of 1980.
// The word must be lower-case ASCII letters; it is cut and rewritten in place
// and the result shares its memory. The word vectors were made with exactly
// this stemmer, so a change here orphans them.
func stem(w []byte) []byte {
	if len(w) <= 2 {
		return w
	}
	w = plural(w)
	w = pastAndGerund(w)
	if len(w) > 1 && w[len(w)-1] == 'y' && hasVowel(w[:len(w)-1]) {
		w[len(w)-1] = 'i'
	}
	w = rewrite(w, doubleSuffixes[:])
	w = rewrite(w, singleSuffixes[:])
	w = dropSuffix(w)
	return tidy(w)
}

// stemmable tells whether stem understands the word.
func stemmable(w string) bool {
	for i := 0; i < len(w); i++ {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return len(w) > 2
}

func vowel(w []byte, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !isAEIOU(w[i-1])
	}
	return false
}

func isAEIOU(c byte) bool {
	return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'
}

// measure counts the vowel-consonant sequences, Porter's m.
func measure(w []byte) int {
	n, prev := 0, false
	for i := range w {
		v := vowel(w, i)
		if prev && !v {
			n++
		}
		prev = v
	}
	return n
}

func hasVowel(w []byte) bool {
	for i := range w {
		if vowel(w, i) {
			return true
		}
	}
	return false
}

func endsDouble(w []byte) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && !vowel(w, n-1)
}

// endsCVC is Porter's *o: consonant, vowel, consonant that is not w, x or y.
func endsCVC(w []byte) bool {
	n := len(w)
	if n < 3 || vowel(w, n-1) || !vowel(w, n-2) || vowel(w, n-3) {
		return false
	}
	c := w[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

func hasSuffix(w []byte, s string) bool {
	return len(w) >= len(s) && string(w[len(w)-len(s):]) == s
}

func plural(w []byte) []byte {
	switch n := len(w); {
	case hasSuffix(w, "sses"), hasSuffix(w, "ies"):
		return w[:n-2]
	case hasSuffix(w, "ss"):
		return w
	case hasSuffix(w, "s"):
		return w[:n-1]
	}
	return w
}

func pastAndGerund(w []byte) []byte {
	n := len(w)
	switch {
	case hasSuffix(w, "eed"):
		if measure(w[:n-3]) > 0 {
			return w[:n-1]
		}
		return w
	case hasSuffix(w, "ed") && hasVowel(w[:n-2]):
		w = w[:n-2]
	case hasSuffix(w, "ing") && hasVowel(w[:n-3]):
		w = w[:n-3]
	default:
		return w
	}
	switch {
	case hasSuffix(w, "at"), hasSuffix(w, "bl"), hasSuffix(w, "iz"):
		return append(w, 'e')
	case endsDouble(w):
		if c := w[len(w)-1]; c != 'l' && c != 's' && c != 'z' {
			return w[:len(w)-1]
		}
	case measure(w) == 1 && endsCVC(w):
		return append(w, 'e')
	}
	return w
}

type suffixRule struct{ from, to string }

var doubleSuffixes = [...]suffixRule{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"},
	{"izer", "ize"}, {"abli", "able"}, {"alli", "al"}, {"entli", "ent"},
	{"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
	{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"},
	{"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
}

var singleSuffixes = [...]suffixRule{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
	{"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// rewrite applies the first rule whose suffix the word has, if enough of the
// word is left in front of it.
func rewrite(w []byte, rules []suffixRule) []byte {
	for _, r := range rules {
		if !hasSuffix(w, r.from) {
			continue
		}
		if head := w[:len(w)-len(r.from)]; measure(head) > 0 {
			return append(head, r.to...)
		}
		return w
	}
	return w
}

var droppedSuffixes = [...]string{
	"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment",
	"ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize",
}

func dropSuffix(w []byte) []byte {
	for _, s := range droppedSuffixes {
		if !hasSuffix(w, s) {
			continue
		}
		head := w[:len(w)-len(s)]
		if measure(head) <= 1 {
			return w
		}
		if s == "ion" && !hasSuffix(head, "s") && !hasSuffix(head, "t") {
			return w
		}
		return head
	}
	return w
}

// tidy removes a final e and undoubles a final l.
func tidy(w []byte) []byte {
	if hasSuffix(w, "e") {
		head := w[:len(w)-1]
		if m := measure(head); m > 1 || m == 1 && !endsCVC(head) {
			w = head
		}
	}
	if measure(w) > 1 && endsDouble(w) && w[len(w)-1] == 'l' {
		w = w[:len(w)-1]
	}
	return w
}
