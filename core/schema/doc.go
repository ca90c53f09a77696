// Package schema makes JSON schemas from Go types, checks JSON against schemas,
// and decodes JSON into the types that the schemas came from.
//
// A type is the single source of its schema, its defaults and its decoding:
//
//	type Config struct {
//		Endpoint string        `json:"endpoint" jsonschema_description:"Base URL of the service."`
//		Every    time.Duration `json:"every,omitempty" jsonschema:"default=10m"`
//	}
//
//	raw, err := schema.For(reflect.TypeFor[Config]()) // for editors and models
//	s, err := schema.Of(reflect.TypeFor[Config]())    // to check with
//	issues := s.Validate(data)                        // what is wrong, with paths
//	err = schema.Decode(data, &cfg)                   // strict, defaults filled in
//
// A property is required unless its field has omitempty, omitzero, a pointer
// type or a default. Durations are strings such as "10s". Recursive types are
// refused by name.
//
// Schemas of others go through [Compile], which bounds them: nothing is ever
// loaded from a file or the network, and checking a value has a budget.
//
// Everything here is safe for concurrent use. The package keeps two caches,
// one per type and one, bounded, per schema text; both only save work.
package schema
