package toolsearch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/agentd-host/agentd/core"
)

// vectorStore keeps vectors by their content, in memory and in a file of the
// state folder. The file is a row of records: key, number of dimensions,
// dimensions. What is cut off at its end is dropped; losing it costs requests.
type vectorStore struct {
	c *core.Context

	mu     sync.Mutex // guards the fields below
	loaded bool
	known  map[vectorKey][]float32
	broken bool // the file can't be written; said once
}

const (
	vectorFile = "toolsearch-vectors"
	maxDims    = 1 << 16
)

// get finds vectors and the places of those that are not known. One of another
// length is from before the service changed and as good as none.
func (s *vectorStore) get(keys []vectorKey, dims int) (vectors [][]float32, lacking []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	vectors = make([][]float32, len(keys))
	for i, k := range keys {
		if vectors[i] = s.known[k]; len(vectors[i]) != dims {
			lacking = append(lacking, i)
		}
	}
	return vectors, lacking
}

// put keeps a vector.
func (s *vectorStore) put(k vectorKey, v []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[k] = v
	path := s.path()
	if path == "" || s.broken {
		return
	}
	if err := appendVector(path, k, v); err != nil {
		s.broken = true
		s.c.Logger().Warn("vectors of tools are not kept", "err", err)
	}
}

func (s *vectorStore) path() string {
	paths, ok := core.Environment.Get(s.c)
	if !ok || paths.State == "" {
		return ""
	}
	return filepath.Join(paths.State, vectorFile)
}

// load reads the file once. A damaged end is cut off.
func (s *vectorStore) load() {
	if s.loaded {
		return
	}
	s.loaded, s.known = true, make(map[vectorKey][]float32)
	path := s.path()
	if path == "" {
		return
	}
	good, err := readVectors(path, s.known)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return
	}
	s.c.Logger().Warn("the end of the kept vectors is damaged and dropped", "file", path, "err", err)
	if err := os.Truncate(path, good); err != nil {
		s.broken = true
	}
}

// readVectors returns how many bytes of the file are whole records.
func readVectors(path string, into map[vectorKey][]float32) (good int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		k, v, err := readVector(r)
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		if err != nil {
			return good, err
		}
		into[k] = v
		good += int64(len(k) + 4 + 4*len(v))
	}
}

// readVector reads a record: io.EOF between records, another error within.
func readVector(r io.Reader) (k vectorKey, v []float32, err error) {
	if _, err := io.ReadFull(r, k[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return k, nil, errors.New("a record is cut off")
		}
		return k, nil, err
	}
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return k, nil, errors.New("a record is cut off")
	}
	dims := binary.LittleEndian.Uint32(n[:])
	if dims == 0 || dims > maxDims {
		return k, nil, fmt.Errorf("a record of %d dimensions", dims)
	}
	data := make([]byte, 4*dims)
	if _, err := io.ReadFull(r, data); err != nil {
		return k, nil, errors.New("a record is cut off")
	}
	v = make([]float32, dims)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return k, v, nil
}

func appendVector(path string, k vectorKey, v []float32) error {
	record := append([]byte(nil), k[:]...)
	record = binary.LittleEndian.AppendUint32(record, uint32(len(v)))
	for _, x := range v {
		record = binary.LittleEndian.AppendUint32(record, math.Float32bits(x))
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(record)
	return errors.Join(err, f.Close())
}
