package loader

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/agentd-host/agentd/core/config"
)

// Editor changes the files of a configuration in place. What would not load is
// not written. The zero value of what is optional is useful; an Editor holds
// nothing and may be copied.
type Editor struct {
	// Schema and Sources say what the configuration is. Required.
	Schema  *config.Schema
	Sources config.Sources

	// Accept is called with a file as it is and as it is about to be written,
	// which loads: whoever trusted the content before may trust it as it will
	// be, so that nobody reads it untrusted. After an error nothing is written.
	// Optional.
	Accept func(before, after *config.File) error
}

// SetPolicy writes a rule of tools.policy into the project's file, and returns
// what loads now.
func (e Editor) SetPolicy(pattern, value string) (*config.Document, error) {
	if e.Sources.File == "" {
		return nil, fmt.Errorf("there is no %s to write to", config.FileName)
	}
	return e.Edit(e.Sources.File, func(text []byte) ([]byte, error) {
		return e.Schema.SetPolicy(text, pattern, value)
	})
}

// SetEnabled takes the ~ from an entry's key, or puts it there, in the topmost
// file that has the entry, and returns what loads now. id is the entry's id, or
// plugin:id.
func (e Editor) SetEnabled(id string, on bool) (*config.Document, error) {
	for _, path := range []string{e.Sources.File, e.Sources.Home} {
		if path == "" {
			continue
		}
		doc, err := e.Edit(path, func(text []byte) ([]byte, error) {
			return e.Schema.SetEnabled(text, id, on)
		})
		var none *config.NoEntryError
		noHome := path == e.Sources.Home && errors.Is(err, fs.ErrNotExist)
		if !noHome && !errors.As(err, &none) {
			return doc, err
		}
	}
	return nil, e.inNoFile(id)
}

// inNoFile says why no file could be edited to change the entry.
func (e Editor) inNoFile(id string) error {
	doc, err := e.Schema.Load(e.Sources)
	if err != nil {
		return err
	}
	entry := doc.Entry(id)
	if entry == nil {
		return unknownEntry(doc, id)
	}
	return fmt.Errorf("%s is in no file; write plugins: {~%s: {}} into %s to disable it",
		entry.Name(), entry.Name(), e.Sources.File)
}

// Edit gives one of the files another content, and returns what loads now.
func (e Editor) Edit(path string, change func([]byte) ([]byte, error)) (*config.Document, error) {
	before, err := config.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, err := change(before.Bytes)
	if err != nil {
		return nil, inFile(err, path)
	}
	after := before.With(text)
	doc, err := e.Schema.Load(e.with(before, after))
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	if e.Accept != nil {
		if err := e.Accept(before, after); err != nil {
			return nil, err
		}
	}
	return doc, config.WriteFile(path, before.Bytes, text)
}

// with are the sources with a file as it would be, which is trusted if it is
// as it is now.
func (e Editor) with(before, after *config.File) config.Sources {
	src := e.Sources
	src.Read = func(path string) (*config.File, error) {
		if path == after.Path {
			return after, nil
		}
		return config.ReadFile(path)
	}
	if trusted := e.Sources.Trusted; trusted != nil {
		src.Trusted = func(path, sha256 string) bool {
			if sha256 == after.SHA256 {
				sha256 = before.SHA256
			}
			return trusted(path, sha256)
		}
	}
	return src
}

// inFile names the file in an error about its content.
func inFile(err error, path string) error {
	var issues config.Errors
	if errors.As(err, &issues) {
		return issues.In(path)
	}
	return fmt.Errorf("%s: %w", path, err)
}
