package schema

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Bounds of a foreign schema. Real tools stay far below: the largest seen has
// 77 kB.
const (
	maxSchemaBytes   = 512 << 10
	maxSchemaDepth   = 128
	maxSchemaObjects = 20_000
	maxSchemaRefs    = 2_000
	maxNumberDigits  = 400
)

// ErrSchemaBounds is wrapped by the error of [Compile] for a schema that is too
// large or too deep to be checked in reasonable time.
var ErrSchemaBounds = errors.New("schema exceeds a bound")

// Schema is a compiled schema. It never changes and may be shared.
type Schema struct {
	raw   json.RawMessage
	root  any // raw, decoded, to look parts up
	inner *jsonschema.Schema
	quick *quick // nil: the schema says more than it knows
	meter *meter // nil for our own schemas
}

// Raw returns the text that the schema was compiled from; do not change it.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Of returns the compiled schema of t, see [For].
func Of(t reflect.Type) (*Schema, error) {
	raw, err := For(t)
	if err != nil {
		return nil, err
	}
	return Compile(raw)
}

// Compile compiles the schema raw. What [For] made is taken as draft 7, others
// as the draft they declare, 2020-12 without one. References to other documents
// are refused and the size is bounded. Results are cached by text, so compile
// when a schema is first needed, not before.
//
// Schemas in the wild often do not compile (patterns that Go does not have,
// required: true). The caller decides whether to go without a check.
func Compile(raw json.RawMessage) (*Schema, error) {
	key := sha256.Sum256(raw)
	if c, ok := compiled.get(key); ok {
		return c.schema, c.err
	}
	_, own := ours.Load(string(raw))
	s, err := compile(bytes.Clone(raw), own)
	compiled.put(key, outcome{s, err})
	return s, err
}

const resourceURL = "schema:///root.json"

func compile(raw json.RawMessage, own bool) (s *Schema, err error) {
	defer func() {
		// The compiler trusts numbers and patterns more than it should.
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("schema does not compile: %v", r)
		}
	}()
	root, err := readSchema(raw)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %q: other documents are not loaded", url)
	}
	s = &Schema{raw: raw, root: root, quick: quickOf(root)}
	if own {
		c.Draft = jsonschema.Draft7
	} else {
		c.Draft = jsonschema.Draft2020
		c.Formats = noFormats(root)
		s.meter = new(meter)
		c.RegisterExtension("meter", nil, s.meter)
	}
	if err := c.AddResource(resourceURL, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("schema does not compile: %w", err)
	}
	if s.inner, err = c.Compile(resourceURL); err != nil {
		return nil, fmt.Errorf("schema does not compile: %w", err)
	}
	return s, nil
}

// noFormats makes the formats of a schema that declares no draft what 2020-12
// says they are: notes. The validator would assert them then.
func noFormats(root any) map[string]func(any) bool {
	off := map[string]func(any) bool{}
	if m, ok := root.(map[string]any); ok && m["$schema"] != nil {
		return off
	}
	for name := range jsonschema.Formats {
		off[name] = func(any) bool { return true }
	}
	return off
}

// readSchema decodes raw after checking its bounds.
func readSchema(raw json.RawMessage) (any, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrSchemaBounds, len(raw), maxSchemaBytes)
	}
	if d := depth(raw); d > maxSchemaDepth {
		return nil, fmt.Errorf("%w: nested %d deep, at most %d", ErrSchemaBounds, d, maxSchemaDepth)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, fmt.Errorf("schema is not JSON: %w", err)
	}
	var count census
	if err := count.take(root); err != nil {
		return nil, err
	}
	return root, nil
}

// census counts what makes compiling expensive.
type census struct{ objects, refs int }

func (c *census) take(v any) error {
	switch v := v.(type) {
	case map[string]any:
		c.objects++
		for key, value := range v {
			if strings.HasSuffix(key, "ef") && strings.HasPrefix(key, "$") { // $ref, $dynamicRef, $recursiveRef
				c.refs++
			}
			if err := c.take(value); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := c.take(item); err != nil {
				return err
			}
		}
	case json.Number:
		return checkNumber(string(v))
	}
	if c.objects > maxSchemaObjects || c.refs > maxSchemaRefs {
		return fmt.Errorf("%w: at most %d objects and %d references",
			ErrSchemaBounds, maxSchemaObjects, maxSchemaRefs)
	}
	return nil
}

// checkNumber refuses numbers whose exact value, which the validator computes,
// is huge.
func checkNumber(n string) error {
	_, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	e, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || e > maxNumberDigits || e < -maxNumberDigits || len(n) > maxNumberDigits {
		return fmt.Errorf("%w: the number %s", ErrSchemaBounds, brief(json.RawMessage(n)))
	}
	return nil
}

type outcome struct {
	schema *Schema
	err    error
}

// cache keeps the results of two generations: what is used stays, and the size
// is bounded without bookkeeping per entry.
type cache struct {
	mu         sync.Mutex // guards the fields below
	young, old map[[sha256.Size]byte]outcome
}

const generation = 2048

var compiled cache

func (c *cache) get(key [sha256.Size]byte) (outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.young[key]; ok {
		return o, true
	}
	o, ok := c.old[key]
	if ok {
		c.putLocked(key, o)
	}
	return o, ok
}

func (c *cache) put(key [sha256.Size]byte, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putLocked(key, o)
}

func (c *cache) putLocked(key [sha256.Size]byte, o outcome) {
	if c.young == nil || len(c.young) >= generation {
		c.old, c.young = c.young, make(map[[sha256.Size]byte]outcome)
	}
	c.young[key] = o
}
