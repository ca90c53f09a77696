package toolsearch

import "fmt"

// refusalFactor is how many streaks of searches are borne before the next is
// refused.
const refusalFactor = 3

// searches counts a turn's searches since its last call of a tool, the one to
// come included; 0 without a session.
func (ses *session) searches() int {
	if ses == nil {
		return 0
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.streak + 1
}

// exhausted tells whether the session's next search is refused.
func (ses *session) exhausted(s *settings) bool {
	return s.streak > 0 && ses.searches() >= refusalFactor*s.streak
}

// streakHint is for a model that searches on and on.
func (v *view) streakHint() string {
	n, searches := v.split.s.streak, v.ses.searches()
	if n == 0 || searches < n {
		return ""
	}
	return fmt.Sprintf("This is search %d without a call: "+
		"call one of the found tools, or answer without a tool.", searches)
}

// streakRefusal ends a streak: what there is to find is said once more.
func (v *view) streakRefusal() (text string, refused bool) {
	if !v.ses.exhausted(v.split.s) {
		return "", false
	}
	w := newListWriter(v.split, tierNames, new(sentences))
	w.head = ""
	w.shorten(refusalTokens, true)
	how := ""
	if v.split.bridged {
		how = " through " + callName
	}
	return fmt.Sprintf("refused: %d searches without a call. "+
		"Call one of these tools%s, or answer without a tool.\n%s",
		v.ses.searches(), how, w.text()), true
}

// refusalTokens bounds the names in a refusal.
const refusalTokens = 2000
