package toolsearch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// benchSets are the sets of the yardstick, the catalogue that each of them
// asks, and the recall at 5 below which the dev half fails.
var benchSets = []struct {
	name, tools string
	floor       float64
}{
	{"bfcl", "bfcl", 0.815},
	{"ace_en", "ace_en", 0.975},
	{"ace_zh", "ace_zh", 0.955},
	{"mcp", "mcp", 0.59},
	{"mcp_exact", "mcp", 1},
	{"mcp_para", "mcp", 0.48},
	{"mcp_zh", "mcp", 0.85},
	{"mcp_large", "mcp_large", 0.64},
	{"metatool", "metatool", 0.71},
}

type benchQuery struct {
	Query    string
	Relevant []string
	Also     []string
}

// benchResult is the line that a set prints.
type benchResult struct {
	Set   string  `json:"set"`
	Split string  `json:"split"`
	N     int     `json:"n"`
	R1    float64 `json:"r1"`
	R3    float64 `json:"r3"`
	R5    float64 `json:"r5"`
	R10   float64 `json:"r10"`
	MRR   float64 `json:"mrr"`
}

// rounded keeps four digits.
func (r benchResult) rounded() benchResult {
	for _, x := range []*float64{&r.R1, &r.R3, &r.R5, &r.R10, &r.MRR} {
		*x = math.Round(*x*1e4) / 1e4
	}
	return r
}

// TestRule30_Quality measures the ranking on sets of queries with known answers:
// TOOLBENCH is their folder, TOOLBENCH_QUERIES another one for the queries,
// TOOLBENCH_SPLIT the half.
func TestRule30_Quality(t *testing.T) {
	folder := benchFolder(t)
	split := getenv("TOOLBENCH_SPLIT", "dev")
	queries := getenv("TOOLBENCH_QUERIES", folder)
	words, err := index.LoadWords()
	if err != nil {
		t.Fatal(err)
	}
	catalogues := make(map[string]*index.Index)
	for _, set := range benchSets {
		file := filepath.Join(queries, set.name+".queries."+split+".jsonl")
		asked, err := readLines[benchQuery](file)
		if errors.Is(err, fs.ErrNotExist) {
			t.Logf("%s is not there: the set is left out", file)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if catalogues[set.tools] == nil {
			docs := readTools(t, filepath.Join(folder, set.tools+".tools.jsonl"))
			catalogues[set.tools] = index.New(docs, &index.Options{Words: words})
		}
		r := measure(catalogues[set.tools], asked)
		r.Set, r.Split = set.name, split
		line, err := json.Marshal(r.rounded())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(string(line))
		if split == "dev" && r.R5 < set.floor-0.00005 {
			t.Errorf("%s: recall at 5 is %.4f, wanted at least %.4f", set.name, r.R5, set.floor)
		}
	}
}

// measure asks an index all queries.
func measure(ix *index.Index, queries []benchQuery) (r benchResult) {
	r.N = len(queries)
	for _, q := range queries {
		hits := ix.Search(q.Query, &index.SearchOptions{Limit: 100})
		right := make([]bool, len(hits))
		for i, h := range hits {
			name := h.Document.Name
			right[i] = slices.Contains(q.Relevant, name) || slices.Contains(q.Also, name)
		}
		n := float64(len(queries))
		r.R1 += recall(q, right, 1) / n
		r.R3 += recall(q, right, 3) / n
		r.R5 += recall(q, right, 5) / n
		r.R10 += recall(q, right, 10) / n
		if i := slices.Index(right, true); i >= 0 {
			r.MRR += 1 / float64(i+1) / n
		}
	}
	return r
}

// recall is the share of the right tools among the first k; where several
// would do, one of them is all.
func recall(q benchQuery, right []bool, k int) float64 {
	found := 0
	for _, ok := range right[:min(k, len(right))] {
		if ok {
			found++
		}
	}
	if len(q.Also) > 0 {
		return float64(min(found, 1))
	}
	return float64(found) / float64(len(q.Relevant))
}

// benchFolder finds the yardstick or skips the test.
func benchFolder(t testing.TB) string {
	t.Helper()
	folder := getenv("TOOLBENCH", filepath.Join("..", "..", "..", "shared", "toolbench"))
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the sets of queries are not in %s; TOOLBENCH names another folder", folder)
	}
	return folder
}

func getenv(key, otherwise string) string {
	if v := os.Getenv(key); v != "" {
		return v
	}
	return otherwise
}

// readTools reads a catalogue. The sets have the server in the tool's name.
func readTools(t testing.TB, file string) []index.Document {
	t.Helper()
	docs, err := readLines[index.Document](file)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func readLines[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}
