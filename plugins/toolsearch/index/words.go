package index

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Words are vectors of English word stems: words that are used alike point
// the same way, and the length of a vector is the weight of its word.
// Read-only, for any number of indexes and goroutines.
type Words struct {
	ids    map[string]int32
	dims   int
	scales []float32 // a component is int8 times the word's scale
	table  []byte    // len(scales) rows of dims int8
	norms  []float32 // of the int8 rows
	signs  []uint64  // words of sign bits, signWords a row
	near   []atomic.Pointer[[]neighbour]
}

// neighbour is another word and its cosine.
type neighbour struct {
	vector int32
	cosine float32
}

const nearest = 0.4 // cosine from which words count as neighbours

//go:embed words.sem
var embeddedWords []byte

// LoadWords reads the vectors that are embedded in the binary, in a few
// milliseconds. Load once and share.
func LoadWords() (*Words, error) { return parseWords(embeddedWords) }

var errWords = errors.New("word vectors: the file is cut off or not of the form SEM1")

// parseWords reads "SEM1", the numbers of words, dimensions and bytes of
// stems (little-endian), the NUL-ended stems, the scales, the rows.
func parseWords(data []byte) (*Words, error) {
	const header = 16
	if len(data) < header || string(data[:4]) != "SEM1" {
		return nil, errWords
	}
	v := int(binary.LittleEndian.Uint32(data[4:]))
	d := int(binary.LittleEndian.Uint32(data[8:]))
	n := int(binary.LittleEndian.Uint32(data[12:]))
	rest := data[header:]
	if n > len(rest) || d == 0 || d%8 != 0 || v > len(rest)/(4+d) || n+v*(4+d) != len(rest) {
		return nil, errWords
	}
	w := &Words{
		ids:    make(map[string]int32, v),
		dims:   d,
		scales: make([]float32, v),
		table:  rest[n+4*v:],
		norms:  make([]float32, v),
		near:   make([]atomic.Pointer[[]neighbour], v),
	}
	for i, s := range bytes.Split(rest[:n], []byte{0}) {
		if i < v {
			w.ids[string(s)] = int32(i)
		}
	}
	if len(w.ids) != v {
		return nil, errWords
	}
	for i := range w.scales {
		w.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[n+4*i:]))
	}
	w.measure()
	return w, nil
}

// measure computes the norms and the sign bits of all rows.
func (w *Words) measure() {
	per := w.signWords()
	w.signs = make([]uint64, per*w.Len())
	for i := range w.norms {
		sum := 0
		for k, b := range w.row(int32(i)) {
			x := int(int8(b))
			sum += x * x
			w.signs[i*per+k/64] |= uint64(b>>7) << (k % 64)
		}
		w.norms[i] = float32(math.Sqrt(float64(sum)))
	}
}

// Len is the number of words.
func (w *Words) Len() int { return len(w.scales) }

func (w *Words) find(stem string) (int32, bool) {
	id, ok := w.ids[stem]
	return id, ok
}

func (w *Words) row(id int32) []byte {
	return w.table[int(id)*w.dims : (int(id)+1)*w.dims]
}

func (w *Words) signWords() int { return (w.dims + 63) / 64 }

// weight is the length of a word's vector.
func (w *Words) weight(id int32) float32 { return w.scales[id] * w.norms[id] }

// addTo adds a word's vector to sum.
func (w *Words) addTo(sum []float32, id int32) {
	scale, row := w.scales[id], w.row(id)
	sum = sum[:len(row)]
	for k, b := range row {
		sum[k] += scale * float32(int8(b))
	}
}

// neighbours returns the words nearest to one, best first, computed at the
// first request. Which words a catalogue has does not matter here, so the
// answer never changes.
func (w *Words) neighbours(id int32) []neighbour {
	if p := w.near[id].Load(); p != nil {
		return *p
	}
	list := w.scan(id)
	w.near[id].Store(&list)
	return list
}

// scan compares a word with all others: first the signs, where a cosine of
// 0.4 leaves 47 of 128 bits different on average, then the few that are left
// exactly.
func (w *Words) scan(id int32) []neighbour {
	var list []neighbour
	limit := w.dims * 55 / 128
	row, per := w.row(id), w.signWords()
	own := w.signs[int(id)*per : (int(id)+1)*per]
	for i := range w.norms {
		differ := 0
		for k, s := range w.signs[i*per : (i+1)*per] {
			differ += bits.OnesCount64(s ^ own[k])
		}
		if differ > limit || int32(i) == id || w.norms[i] == 0 {
			continue
		}
		cos := float32(dot(row, w.row(int32(i)))) / (w.norms[id] * w.norms[i])
		if cos >= nearest {
			list = append(list, neighbour{int32(i), cos})
		}
	}
	slices.SortFunc(list, func(a, b neighbour) int {
		switch {
		case a.cosine > b.cosine:
			return -1
		case a.cosine < b.cosine:
			return 1
		}
		return int(a.vector - b.vector)
	})
	return slices.Clip(list)
}

// dot multiplies two rows of int8 of equal length, a multiple of eight.
func dot(a, b []byte) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := a[:8:8], b[:8:8]
		s0 += int32(int8(x[0]))*int32(int8(y[0])) + int32(int8(x[4]))*int32(int8(y[4]))
		s1 += int32(int8(x[1]))*int32(int8(y[1])) + int32(int8(x[5]))*int32(int8(y[5]))
		s2 += int32(int8(x[2]))*int32(int8(y[2])) + int32(int8(x[6]))*int32(int8(y[6]))
		s3 += int32(int8(x[3]))*int32(int8(y[3])) + int32(int8(x[7]))*int32(int8(y[7]))
		a, b = a[8:], b[8:]
	}
	return s0 + s1 + s2 + s3
}

// normalizeLength scales a vector to length one; a vector of nothing stays.
func normalizeLength(v []float32) {
	var sum float32
	for _, x := range v {
		sum += x * x
	}
	if sum == 0 {
		return
	}
	f := float32(1 / math.Sqrt(float64(sum)))
	for i := range v {
		v[i] *= f
	}
}

// quantize turns a vector into int8, keeping its direction, and returns the
// length of the result.
func quantize(dst []byte, v []float32) float32 {
	var top float32
	for _, x := range v {
		top = max(top, x, -x)
	}
	if top == 0 {
		return 0
	}
	sum := 0
	for i, x := range v {
		q := int(math.Round(float64(x / top * 127)))
		dst[i] = byte(int8(q))
		sum += q * q
	}
	return float32(math.Sqrt(float64(sum)))
}
