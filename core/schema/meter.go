package schema

import (
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The budget of checking one value against a foreign schema, in visits: some for
// the schema, some more for each value inside the value. An honest schema needs
// a few for each; a short one that refers to itself under anyOf can ask for any
// number.
const (
	visitsAtLeast  = 5_000
	visitsPerValue = 8
)

// The price of a visit, and of each name that it compares.
const (
	visitCost = 16
	nameCost  = 1
)

// exhausted is the panic that ends a check over the budget.
type exhausted struct{}

// meter is an extension of the validator that counts visits. One check at a
// time runs with a meter.
type meter struct {
	mu   sync.Mutex
	left int // guarded by mu, which the check holds throughout
}

// run calls check with the budget for a value of the given size and reports
// whether it sufficed.
func (m *meter) run(size int, check func() error) (err error, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = visitCost * (visitsAtLeast + visitsPerValue*size)
	defer func() {
		if r := recover(); r != nil {
			if _, over := r.(exhausted); !over {
				panic(r)
			}
			err, ok = nil, false
		}
	}()
	return check(), true
}

// Compile gives every schema object its own visit counter.
func (m *meter) Compile(_ jsonschema.CompilerContext, schema map[string]any) (jsonschema.ExtSchema, error) {
	v := visit{meter: m, fixed: visitCost, perItem: nameCost}
	for key, value := range schema {
		switch value := value.(type) {
		case map[string]any:
			if key == "patternProperties" {
				v.perItem += len(value) * nameCost
			}
			v.fixed += len(value) * nameCost
		case []any: // branches may fail before their own visit is counted
			v.fixed += len(value) * nameCost
		}
	}
	return v, nil
}

type visit struct {
	meter          *meter
	fixed, perItem int
}

func (v visit) Validate(_ jsonschema.ValidationContext, value any) error {
	cost := v.fixed
	switch value := value.(type) {
	case map[string]any:
		cost += v.perItem * len(value)
	case []any:
		cost += v.perItem * len(value)
	}
	if v.meter.left -= cost; v.meter.left < 0 {
		panic(exhausted{})
	}
	return nil
}

// size counts the values in a value.
func size(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			n += size(v)
		}
	case []any:
		for _, v := range value {
			n += size(v)
		}
	}
	return n
}
