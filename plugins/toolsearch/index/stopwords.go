package index

import "strings"

// stopWords say nothing about a tool and are dropped from tools and queries.
const stopWords = `a about above after again against all am an and any are as
at be because been before being below between both but by can could did do
does doing don down during each few for from further had has have having he
her here hers him his how i if in into is it its itself just let me more most
my myself no nor not now of off on once only or other our ours out over own
please s same shall she should so some such t than that the their theirs them
then there these they this those through to too under until up us very was we
were what when where which while who whom why will with would you your yours`

// askingWords are words of asking, not of the thing asked for: dropped from
// queries alone, and only while something else is left.
const askingWords = `want need like help could would please know tell give show
looking look able thanks hi hello hey im ive wondering trying try kindly make
sure also using use used`

// wordSet makes a set of the words in text, each passed through form.
func wordSet(text string, form func(string) string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[form(w)] = true
	}
	return set
}
