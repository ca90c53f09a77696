package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// allowed renders a list of names for an error, "auto, ask or off".
func allowed(names []string) string {
	const most = 16
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) == 1:
		return names[0]
	case len(names) > most:
		return strings.Join(names[:most], ", ") + ", ..."
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
