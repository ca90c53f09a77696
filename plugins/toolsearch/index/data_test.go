package index

import (
	"strings"
	"testing"
)

func TestWordsMeanWhatTheyShould(t *testing.T) {
	w := words(t)
	for a, b := range map[string]string{"pictur": "imag", "weather": "forecast", "delet": "remov"} {
		x, ok := w.find(a)
		y, ok2 := w.find(b)
		if !ok || !ok2 {
			t.Fatalf("no vector of %q or %q", a, b)
		}
		near := false
		for _, n := range w.neighbours(x) {
			near = near || n.vector == y
		}
		if !near {
			t.Errorf("%q is not near %q", b, a)
		}
	}
}

func TestWordsAreChecked(t *testing.T) {
	good := []byte("SEM1\x01\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00a\x00\x00\x00\x80\x3f12345678")
	if w, err := parseWords(good); err != nil || w.Len() != 1 {
		t.Fatal(w, err)
	}
	for i := range good {
		if _, err := parseWords(good[:i]); err == nil {
			t.Errorf("accepted %d of %d bytes", i, len(good))
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add([]byte("SEM1\x01\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00a\x00\x00\x00\x80\x3f12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := parseWords(data)
		if err == nil && w.Len() > 0 {
			w.neighbours(0)
		}
	})
}

func TestGlossaryIsWellFormed(t *testing.T) {
	g := parseGlossary(embeddedGlossary)
	seen := make(map[string]bool)
	for line := range strings.Lines(embeddedGlossary) {
		zh, en, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || zh == "" || en == "" || seen[zh] {
			t.Errorf("line %q is wrong or says again what another says", line)
		}
		seen[zh] = true
		if n := g.match(zh); n != len(zh) {
			t.Errorf("%q is found as %q", zh, zh[:n])
		}
		for alternative := range strings.SplitSeq(en, ",") {
			if len(split(nil, alternative)) == 0 {
				t.Errorf("%q has an empty alternative", zh)
			}
		}
	}
}

func TestGlossaryTakesTheLongest(t *testing.T) {
	g := parseGlossary("数据\tdata\n数据库\tdatabase\n")
	for text, want := range map[string]int{"数据库表": 9, "数据表": 6, "表": 0, "": 0, "database": 0} {
		if got := g.match(text); got != want {
			t.Errorf("match(%q) = %d, want %d", text, got, want)
		}
	}
}
