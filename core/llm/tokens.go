package llm

// EstimateTokens guesses how many tokens a model makes of s: CJK characters
// (Kana and Hangul too) at two thirds of a token, all others at a quarter.
// It is one formula for budgets and reports, not a tokenizer.
func EstimateTokens(s string) int { return UnitTokens(TokenUnits(s)) }

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

// TokenUnits is the same guess in twelfths of a token. Unlike tokens, units of
// parts add up to those of the whole.
func TokenUnits(s string) int {
	cjk, rest := 0, 0
	for _, r := range s {
		if isCJK(r) {
			cjk++
		} else {
			rest++
		}
	}
	return 8*cjk + 3*rest // cjk/1.5 + rest/4
}

// UnitTokens gives the tokens of a sum of units.
func UnitTokens(units int) int { return (units + 11) / 12 }
