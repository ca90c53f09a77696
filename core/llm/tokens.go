package llm

// EstimateTokens guesses how many tokens a model makes of s: CJK characters
// (Kana and Hangul too) at two thirds of a token, all others at a quarter.
// It is one formula for budgets and reports, not a tokenizer.
func EstimateTokens(s string) int {
	cjk, rest := 0, 0
	for _, r := range s {
		if isCJK(r) {
			cjk++
		} else {
			rest++
		}
	}
	// ceil(cjk/1.5 + rest/4) in integers
	return (8*cjk + 3*rest + 11) / 12
}

func isCJK(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x11FF, // Hangul Jamo
		r >= 0x2E80 && r <= 0x9FFF, // radicals, Kana, ideographs
		r >= 0xAC00 && r <= 0xD7AF, // Hangul syllables
		r >= 0xF900 && r <= 0xFAFF, // compatibility ideographs
		r >= 0xFF66 && r <= 0xFF9D, // half-width Kana
		r >= 0x20000 && r <= 0x3FFFF:
		return true
	}
	return false
}
