// Package config reads agent.yml as a checked, positioned tree.
//
// A [Schema] is built once from the plugins that are compiled in. Its Load
// reads the files, merges them with the environment and the command line,
// checks everything, and returns an immutable [Document], or an [Errors] that
// lists every issue with file, line, column and what is allowed there:
//
//	s, err := config.NewSchema(plugins...)
//	doc, err := s.Load(config.Sources{File: "agent.yml", Environ: os.Environ()})
//	for _, e := range doc.Entries { ... }
//
// The order of work is fixed: read, check bytes, parse into nodes, decide
// trust, walk and interpolate, merge, coerce, validate, and for each entry
// defaults, canonical JSON and digest. Nothing that a file says has an effect
// before its trust was decided, see [Sources.Trusted].
//
// [Edit] changes a file in place and keeps comments, order and quoting;
// [WriteFile] puts the result back atomically. A [Watcher] says when a file
// should be read again.
//
// A Schema and a Document may be used by any number of goroutines.
package config
