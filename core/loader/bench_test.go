package loader_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// One reload reads and checks the file, compares, and restarts one entry.
func BenchmarkLoaderReload(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d entries, one changed", n), func(b *testing.B) {
			file := func(value int) []byte {
				var s strings.Builder
				s.WriteString("plugins:\n")
				for i := range n {
					fmt.Fprintf(&s, "  p:e%d: {value: v}\n", i)
				}
				return []byte(strings.Replace(s.String(), "value: v}", fmt.Sprintf("value: v%d}", value), 1))
			}
			bench := newBench(b, string(file(-1)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := os.WriteFile(bench.path, file(i), 0o600); err != nil {
					b.Fatal(err)
				}
				if err := bench.l.Reload(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
