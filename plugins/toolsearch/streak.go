package toolsearch

import "fmt"

// refusalFactor is how many streaks of searches are borne before the next is
// refused.
const refusalFactor = 3

// searches counts the searches since the last call of a tool, the one that
// asks included; 0 without a session.
func (v *view) searches() int {
	if v.ses == nil {
		return 0
	}
	v.ses.mu.Lock()
	defer v.ses.mu.Unlock()
	return v.ses.streak + 1
}

// streakHint is for a model that searches on and on.
func (v *view) streakHint() string {
	n := v.split.s.streak
	if n == 0 || v.searches() < n {
		return ""
	}
	return fmt.Sprintf("This is search %d without a call: "+
		"call one of the found tools, or answer without a tool.", v.searches())
}

// streakRefusal ends a streak: what there is to find is said once more.
func (v *view) streakRefusal() (text string, refused bool) {
	n := v.split.s.streak
	if n == 0 || v.searches() < refusalFactor*n {
		return "", false
	}
	w := newListWriter(v.split, tierNames, new(sentences))
	w.shorten(refusalTokens, true)
	return fmt.Sprintf("refused: %d searches without a call. "+
		"Call one of these tools, or answer without a tool.\n%s",
		v.searches(), w.text()), true
}

// refusalTokens bounds the names in a refusal.
const refusalTokens = 2000
