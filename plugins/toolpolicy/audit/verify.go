package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Report is what [Verify] found in order.
type Report struct {
	Files   []string `json:"files"`
	Records uint64   `json:"records"`
	First   uint64   `json:"first"`
	Last    uint64   `json:"last"`
	// Head is the hash of the last line: noted elsewhere, it also shows
	// whether the end of the log was cut off.
	Head string `json:"head"`
	// Recovered counts lines that a crash cut off.
	Recovered int `json:"recovered,omitempty"`
}

// ChainError says where the chain is broken.
type ChainError struct {
	File string
	Line int
	Why  string
}

// Error gives file, line and reason.
func (e *ChainError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why) }

// Verify reads a log with its rotated files, oldest first, and checks every
// number and hash. A broken chain is a *[ChainError]; the report then covers
// what came before. Rotated files may be taken away whole, oldest first: the
// report says where the log begins then. Lines that are missing at the
// beginning of a file are a broken chain.
func Verify(path string) (Report, error) {
	files, err := filesOf(path)
	if err != nil {
		return Report{}, err
	}
	v := verifier{report: Report{Files: files}}
	for _, name := range files {
		if err := eachLine(name, v.line); err != nil {
			return v.report, err
		}
	}
	if v.torn != nil {
		v.report.Recovered++ // the next Append will say so in the log
	}
	return v.report, nil
}

func filesOf(path string) ([]string, error) {
	files, err := rotated(path)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(path)
	switch {
	case err == nil:
		files = append(files, path)
	case !errors.Is(err, fs.ErrNotExist) || len(files) == 0:
		return nil, err
	}
	return files, nil
}

type verifier struct {
	report Report
	torn   *ChainError // a line that is no record; the next one has to explain it
}

func (v *verifier) line(file string, n int, line []byte, whole bool) error {
	broken := func(why string, args ...any) error {
		return &ChainError{file, n, fmt.Sprintf(why, args...)}
	}
	r, err := parseRecord(line)
	if (err != nil || !whole) && v.torn == nil {
		v.torn = &ChainError{file, n, "not a whole record"}
		v.report.Head = hashLine(line)
		return nil
	}
	if v.torn != nil && (err != nil || r.Kind != Recovered) {
		return v.torn
	}
	first := v.report.Records == 0 && v.torn == nil
	switch {
	case !first && r.Prev != v.report.Head:
		return broken("the line before was changed, removed or added: its hash is not the one noted here")
	case !first && r.Seq != v.report.Last+1:
		return broken("number %d follows %d", r.Seq, v.report.Last)
	case first && r.Seq == 1 && r.Prev != "":
		return broken("the first record names a line before it")
	case first && r.Seq > 1 && r.Follows == "":
		return broken("records 1 to %d are missing: this one did not begin a file", r.Seq-1)
	}
	if first {
		v.report.First = r.Seq
	}
	if v.torn != nil {
		v.torn = nil
		v.report.Recovered++
	}
	v.report.Records++
	v.report.Last, v.report.Head = r.Seq, hashLine(line)
	return nil
}

// eachLine calls f for each line of a file.
func eachLine(name string, f func(file string, n int, line []byte, whole bool) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 64<<10)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			whole := bytes.HasSuffix(line, []byte("\n"))
			if err := f(name, n, bytes.TrimSuffix(line, []byte("\n")), whole); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Tail returns the last n records of a log, oldest first, over its rotated
// files. Lines that are no records are left out; without a file there are
// none.
func Tail(path string, n int) ([]Record, error) {
	files, err := filesOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records []Record
	for i := len(files) - 1; i >= 0 && len(records) < n; i-- {
		var part []Record
		err := eachLine(files[i], func(_ string, _ int, line []byte, _ bool) error {
			if r, err := parseRecord(line); err == nil {
				part = append(part, r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		records = append(part, records...)
	}
	return records[max(0, len(records)-n):], nil
}
