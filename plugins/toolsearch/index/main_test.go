package index

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loadWords = sync.OnceValues(LoadWords)

// words loads the vectors once for all tests.
func words(t testing.TB) *Words {
	t.Helper()
	w, err := loadWords()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// names are the names of hits.
func names(hits []Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Document.Name)
	}
	return out
}
