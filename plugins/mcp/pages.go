package mcp

import (
	"context"
	"encoding/json"
	"fmt"
)

// The bounds of one list.
const (
	maxPages   = 500
	maxEntries = 20_000
)

// fetchPages collects the entries under key of all pages of a list. A cursor
// that comes again, or too many pages, ends it with a warning: what was
// received until then is kept.
func fetchPages(
	ctx context.Context, key string, page func(ctx context.Context, cursor string) (json.RawMessage, error),
) (entries []json.RawMessage, warning string, err error) {
	seen := map[string]bool{}
	cursor := ""
	for n := 1; ; n++ {
		raw, err := page(ctx, cursor)
		if err != nil {
			return nil, "", err
		}
		got, next, err := readPage(raw, key)
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, got...)
		switch {
		case next == "":
			return entries, "", nil
		case seen[next]:
			return entries, fmt.Sprintf("the list does not end: the cursor of page %d was given before", n), nil
		case n == maxPages, len(entries) >= maxEntries:
			return entries, fmt.Sprintf("the list was cut after %d pages with %d entries", n, len(entries)), nil
		}
		seen[next] = true
		cursor = next
	}
}

func readPage(raw json.RawMessage, key string) (entries []json.RawMessage, next string, err error) {
	page := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", fmt.Errorf("the list is not an object: %w", err)
	}
	if err := json.Unmarshal(orNull(page[key]), &entries); err != nil {
		return nil, "", fmt.Errorf("%s is not a list", key)
	}
	_ = json.Unmarshal(orNull(page["nextCursor"]), &next)
	return entries, next, nil
}
