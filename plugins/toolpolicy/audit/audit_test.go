package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentd-host/agentd/plugins/toolpolicy/audit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	dir, _ := os.MkdirTemp("", "audit")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "audit.jsonl")
	log := audit.Open(path, 0)
	defer log.Close()
	log.Append(audit.Record{Kind: audit.Decision, Tool: "read_file", Decision: "allow"})
	log.Append(audit.Record{Kind: audit.Outcome, Tool: "read_file", Outcome: "ok"})

	report, err := audit.Verify(path)
	fmt.Println(report.Records, "records,", err)
	text, _ := os.ReadFile(path)
	os.WriteFile(path, bytes.Replace(text, []byte("allow"), []byte("deny!"), 1), 0o600)
	_, err = audit.Verify(path)
	fmt.Println(strings.TrimPrefix(err.Error(), dir+"/"))
	// Output:
	// 2 records, <nil>
	// audit.jsonl:2: the line before was changed, removed or added: its hash is not the one noted here
}

func write(t *testing.T, path string, rotate int64, n int) {
	t.Helper()
	log := audit.Open(path, rotate)
	for i := range n {
		if err := log.Append(audit.Record{Kind: audit.Decision, Tool: fmt.Sprint("tool", i), Decision: "allow"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRule15_TheChainGoesOnOverRotationAndRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path, 1000, 12)
	write(t, path, 1000, 8)
	report, err := audit.Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	if report.Records != 20 || report.First != 1 || report.Last != 20 || len(report.Files) < 3 {
		t.Errorf("got %+v, want records 1 to 20 in several files", report)
	}
	last, err := audit.Tail(path, 7)
	if err != nil || len(last) != 7 || last[0].Seq != 14 || last[6].Tool != "tool7" {
		t.Errorf("tail: got %+v, %v", last, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("got %v, %v, want a private file", info.Mode(), err)
	}
	// The oldest file may be thrown away.
	if err := os.Remove(report.Files[0]); err != nil {
		t.Fatal(err)
	}
	if report, err := audit.Verify(path); err != nil || report.First == 1 {
		t.Errorf("without the oldest file: got %+v, %v", report, err)
	}
}

func TestE28_AnyChangeOfTheLogIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path, 0, 10)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.SplitAfter(text, []byte("\n"))[:10]
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	tests := map[string][]byte{
		"a line removed":     join(append(append([][]byte{}, all[:4]...), all[5:]...)...),
		"a line doubled":     join(append(append([][]byte{}, all[:5]...), all[4:]...)...),
		"two lines swapped":  join(all[0], all[2], all[1], all[3]),
		"a member added":     bytes.Replace(text, []byte(`"tool":"tool3"`), []byte(`"tool":"tool3","x":1`), 1),
		"a line of no sense": join(all[0], []byte("nonsense\n"), all[1]),
		"a torn line inside": join(all[0], all[1][:20], []byte("\n"), all[2]),
		"the first replaced": join([]byte(`{"seq":1,"time":"2026-01-01T00:00:00Z","prev":"","kind":"decision"}`+"\n"), all[1]),
	}
	for name, changed := range tests {
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := audit.Verify(path)
		if chain := (*audit.ChainError)(nil); !errors.As(err, &chain) {
			t.Errorf("%s: got %v, want a chain error", name, err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	head := hashOf(t, path, text)
	for range 300 {
		changed := bytes.Clone(text)
		changed[rng.IntN(len(changed))] ^= 1 << rng.IntN(7)
		if bytes.Equal(bytes.TrimSpace(changed), bytes.TrimSpace(text)) {
			continue
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		// A change of the last line shows in the head alone.
		if report, err := audit.Verify(path); err == nil && report.Head == head {
			t.Fatalf("not found: %s", changed)
		}
	}
}

func TestE28_TheBeginningOfTheLogIsMissed(t *testing.T) {
	cut := func(path string, n int) error {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		if len(lines) < n+2 {
			t.Fatalf("want more than %d lines, got %q", n, text)
		}
		if err := os.WriteFile(path, bytes.Join(lines[n:], nil), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = audit.Verify(path)
		return err
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path, 0, 10)
	if err := cut(path, 3); err == nil || !strings.Contains(err.Error(), "records 1 to 3 are missing") {
		t.Errorf("the first three lines of the only file: got %v", err)
	}

	path = filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path, 1500, 30)
	report, err := audit.Verify(path)
	if err != nil || len(report.Files) < 3 {
		t.Fatalf("got %+v, %v, want several files", report, err)
	}
	for _, old := range report.Files[:len(report.Files)-2] {
		if err := os.Remove(old); err != nil {
			t.Fatal(err)
		}
	}
	left, err := audit.Verify(path)
	if err != nil || left.First == 1 || left.Last != 30 {
		t.Errorf("without the oldest files: got %+v, %v", left, err)
	}
	if err := os.Remove(left.Files[0]); err != nil {
		t.Fatal(err)
	}
	if err := cut(path, 1); err == nil {
		t.Error("the first line of a file that was begun by rotation is not missed")
	}
}

func hashOf(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	return report.Head
}

func TestRule15_ALineCutOffByACrashIsRecovered(t *testing.T) {
	for _, keep := range []int{1, 40, -1} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		write(t, path, 0, 3)
		text, _ := os.ReadFile(path)
		lines := bytes.SplitAfter(text, []byte("\n"))
		last := lines[2][:len(lines[2])-1]
		if keep > 0 {
			last = last[:keep]
		}
		if err := os.WriteFile(path, bytes.Join([][]byte{lines[0], lines[1], last}, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := audit.Verify(path); err != nil {
			t.Errorf("kept %d, before going on: %v", keep, err)
		}
		write(t, path, 0, 2)
		report, err := audit.Verify(path)
		if err != nil || report.Last != 5 {
			t.Errorf("kept %d: got %+v, %v", keep, report, err)
		}
	}
}

func TestSeveralWritersShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	for range 4 {
		log := audit.Open(path, 2000)
		t.Cleanup(func() { log.Close() })
		for range 2 {
			wg.Go(func() {
				for range 10 {
					if err := log.Append(audit.Record{Kind: audit.Outcome, Outcome: "ok"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if report, err := audit.Verify(path); err != nil || report.Records != 80 {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestALogThatCannotBeWrittenSaysSo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "missing", "audit.jsonl")
	log := audit.Open(path, 0)
	if err := log.Check(); err == nil {
		t.Error("a missing folder: got no error")
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(audit.Record{Kind: audit.Decision}); err != nil {
		t.Errorf("once it is there: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if err := log.Append(audit.Record{}); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
}

func TestALogWhoseEndIsNoRecordIsRefusedEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := audit.Open(path, 0)
	defer log.Close()
	for range 3 {
		if err := log.Append(audit.Record{Kind: audit.Decision}); err == nil {
			t.Error("appended to a chain without a last record")
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "nonsense\n" {
		t.Errorf("got %q", text)
	}
}

func TestALineTooLongLosesItsArguments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := audit.Open(path, 0)
	defer log.Close()
	huge, _ := json.Marshal(strings.Repeat("x", 2<<20))
	for range 2 {
		if err := log.Append(audit.Record{Kind: audit.Decision, Tool: "t", Digest: "d", Arguments: huge}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := audit.Tail(path, 5)
	if err != nil || len(records) != 2 || records[1].Arguments != nil || records[1].Digest != "d" {
		t.Errorf("got %d records, %v", len(records), err)
	}
	if _, err := audit.Verify(path); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	log := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), 0)
	defer log.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Append(audit.Record{Kind: audit.Decision, Tool: "read_file", Decision: "allow"}); err != nil {
			b.Fatal(err)
		}
	}
}
