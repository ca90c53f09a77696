// Package audit writes and checks the record of tool calls: JSON lines, each
// with a sequence number and the hash of the line before, so that a line that
// was changed, removed or added in the middle is found. Rotation keeps the
// chain over its files.
//
//	log, err := audit.Open("audit.jsonl", 16<<20)
//	err = log.Append(audit.Record{Kind: audit.Decision, Tool: "read_file", Decision: "allow"})
//	report, err := audit.Verify("audit.jsonl")
//
// A Log is safe for concurrent use. Several processes may write one file.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentd-host/agentd/internal/statefile"
)

// maxLine bounds a line; longer arguments are left out.
const maxLine = 1 << 20

// Log appends records to a file.
type Log struct {
	path   string
	rotate int64

	mu     sync.Mutex // guards the fields below
	lock   *statefile.LockFile
	file   *os.File
	info   fs.FileInfo // of file when it was opened: which one it is
	size   int64       // after our last line; another size: somebody else wrote
	seq    uint64      // of the last line
	prev   string      // hash of the last line
	older  string      // name of the file that ends with it, if the present one is empty
	buffer bytes.Buffer
	closed bool
}

// Open returns the log of a file. The file is opened when the first record is
// appended. When it has reached rotate bytes a new one is begun and the old
// one kept beside it; 0 never rotates.
func Open(path string, rotate int64) *Log {
	return &Log{path: path, rotate: rotate, lock: statefile.NewLock(path + ".lock")}
}

// ErrClosed is returned by a Log that was closed.
var ErrClosed = errors.New("the audit log is closed")

// Append writes the record with its number, its place in the chain and, if
// it has none, the time. After an error nothing of it counts: a part that
// reached the file is cut off again.
func (l *Log) Append(r Record) error {
	return l.locked(func() error { return l.append(&r) })
}

// Check reports whether a record could be written now.
func (l *Log) Check() error {
	return l.locked(func() error { return nil })
}

// Close closes the files. Appending then is [ErrClosed].
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(l.closeFile(), l.lock.Close())
}

func (l *Log) closeFile() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.file = nil
	return err
}

// locked runs f with the file open, at its end, and nobody else writing.
func (l *Log) locked(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if err := l.lock.Lock(); err != nil {
		return err
	}
	defer l.lock.Unlock()
	if err := l.catchUp(); err != nil {
		return err
	}
	return f()
}

// catchUp opens the file, or learns what another process did to it.
func (l *Log) catchUp() error {
	there, err := os.Stat(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if l.file != nil {
		if there != nil && os.SameFile(l.info, there) && there.Size() == l.size {
			return nil
		}
		l.closeFile()
	}
	return l.open(there)
}

func (l *Log) open(there fs.FileInfo) error {
	if there != nil && !there.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", l.path)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l.file = f
	if err := l.resume(); err != nil {
		l.closeFile() // so that the next record fails too
		return err
	}
	return nil
}

// resume finds the end of the chain in the file just opened.
func (l *Log) resume() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.info, l.size, l.older = info, info.Size(), ""
	if l.size == 0 {
		return l.followPredecessor()
	}
	last, whole, err := lastLine(l.file, l.size)
	if err != nil {
		return err
	}
	if whole {
		return l.follow(last)
	}
	if _, err := parseRecord(last); err != nil {
		return l.recover(last)
	}
	if err := l.write([]byte("\n")); err != nil { // only the line break was missing
		return err
	}
	return l.follow(last)
}

// followPredecessor begins the chain, or goes on where a rotated file ended.
func (l *Log) followPredecessor() error {
	l.seq, l.prev = 0, ""
	older, err := rotated(l.path)
	if err != nil || len(older) == 0 {
		return err
	}
	f, err := os.Open(older[len(older)-1])
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last, _, err := lastLine(f, info.Size())
	if err != nil {
		return err
	}
	l.older = filepath.Base(f.Name())
	return l.follow(last)
}

func (l *Log) follow(last []byte) error {
	r, err := parseRecord(last)
	if err != nil {
		return fmt.Errorf("%s: the last line is no record (%w); move the file away, after agentd audit verify", l.path, err)
	}
	l.seq, l.prev = r.Seq, hashLine(last)
	return nil
}

// recover ends a line that a crash cut off and says so in the chain.
func (l *Log) recover(torn []byte) error {
	seq, err := seqBefore(l.file, l.size-int64(len(torn)))
	if err != nil {
		return err
	}
	if err := l.write([]byte("\n")); err != nil {
		return err
	}
	l.seq, l.prev = seq, hashLine(torn)
	return l.append(&Record{Kind: Recovered, Reason: "the line before was cut off"})
}

// append writes the record, which becomes what the line says.
func (l *Log) append(r *Record) error {
	if err := l.rotateIfFull(); err != nil {
		return err
	}
	r.Seq, r.Prev, r.Follows = l.seq+1, l.prev, l.older
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r.Time = r.Time.UTC()
	line, err := l.line(r)
	if err != nil {
		return err
	}
	if err := l.write(line); err != nil {
		return err
	}
	l.seq, l.prev, l.older = r.Seq, hashLine(line[:len(line)-1]), ""
	return nil
}

// line returns the record as its line, with the line break. It is good until
// the next one.
func (l *Log) line(r *Record) ([]byte, error) {
	line, err := l.encoded(r)
	if err != nil || len(line) <= maxLine+1 {
		return line, err
	}
	r.Arguments = nil
	r.Reason, r.Target = short(r.Reason), short(r.Target)
	if line, err = l.encoded(r); err != nil || len(line) > maxLine+1 {
		return nil, errors.Join(err, fmt.Errorf("record longer than %d bytes", maxLine))
	}
	return line, nil
}

// maxBuffer is the longest buffer that is kept from one record to the next.
const maxBuffer = 64 << 10

func (l *Log) encoded(r *Record) ([]byte, error) {
	if l.buffer.Cap() > maxBuffer {
		l.buffer = bytes.Buffer{}
	}
	l.buffer.Reset()
	e := json.NewEncoder(&l.buffer)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return l.buffer.Bytes(), err
}

func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), 4096)], "") }

func (l *Log) write(data []byte) error {
	n, err := l.file.Write(data)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		l.closeFile()
		return err
	}
	l.size += int64(n)
	return nil
}

func (l *Log) rotateIfFull() error {
	if l.rotate <= 0 || l.size < l.rotate {
		return nil
	}
	if err := l.closeFile(); err != nil {
		return err
	}
	if err := os.Rename(l.path, rotatedName(l.path, l.seq)); err != nil {
		return err
	}
	return l.open(nil)
}

// rotatedName is where the file goes whose last record is seq: names sort in
// the order of the chain.
func rotatedName(path string, seq uint64) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%016d%s", strings.TrimSuffix(path, ext), seq, ext)
}

// rotated lists the rotated files of a log, oldest first.
func rotated(path string) ([]string, error) {
	ext := filepath.Ext(path)
	base := filepath.Base(strings.TrimSuffix(path, ext)) + "-"
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		digits, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ext), base)
		if ok && len(digits) == 16 && strings.Trim(digits, "0123456789") == "" && filepath.Ext(e.Name()) == ext {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return found, nil // ReadDir sorts
}

// lastLine returns the last line of a file of that size, and whether it ends
// with a line break.
func lastLine(f *os.File, size int64) (line []byte, whole bool, err error) {
	from := max(0, size-2*maxLine)
	tail := make([]byte, size-from)
	if _, err := io.ReadFull(io.NewSectionReader(f, from, size-from), tail); err != nil {
		return nil, false, err
	}
	whole = bytes.HasSuffix(tail, []byte("\n"))
	tail = bytes.TrimSuffix(tail, []byte("\n"))
	return tail[bytes.LastIndexByte(tail, '\n')+1:], whole, nil
}

// seqBefore returns the number of the last whole record before an offset.
func seqBefore(f *os.File, offset int64) (uint64, error) {
	if offset == 0 {
		return 0, nil
	}
	line, _, err := lastLine(f, offset)
	if err != nil {
		return 0, err
	}
	r, err := parseRecord(line)
	return r.Seq, err
}
