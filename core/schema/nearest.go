package schema

import (
	"slices"
	"strings"
)

// longestName bounds the cost of a comparison; nobody mistypes longer names.
const longestName = 128

// Nearest returns the candidate most like name, or "" if none is near: the
// Damerau distance, letter case aside, may be a third of the longer name.
// Among equals the first in sorted order wins.
func Nearest(name string, candidates []string) string {
	near := Near(name, candidates, 1)
	if len(near) == 0 {
		return ""
	}
	return near[0]
}

// Near returns up to n candidates near to name, nearest first, in the sense of
// [Nearest].
func Near(name string, candidates []string, n int) []string {
	type match struct {
		name     string
		distance int
	}
	var found []match
	want := []rune(strings.ToLower(name))
	for _, c := range candidates {
		have := []rune(strings.ToLower(c))
		limit := max(len(want), len(have)) / 3
		if max(len(want), len(have)) > longestName || abs(len(want)-len(have)) > limit {
			continue
		}
		if d := distance(want, have); d <= limit {
			found = append(found, match{c, d})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	names := make([]string, 0, min(n, len(found)))
	for _, m := range found[:min(n, len(found))] {
		names = append(names, m.name)
	}
	return names
}

// distance counts insertions, deletions, replacements and swaps of neighbours.
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(next[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
