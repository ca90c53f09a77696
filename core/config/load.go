package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

// Sources says where a configuration comes from, from the lowest layer to the
// highest. The zero value is an empty configuration.
type Sources struct {
	// Builtin is YAML below all files; it is trusted. Optional.
	Builtin []byte

	// Home is the user's own file, ~/.agentd/agent.yml. It is trusted; that it
	// does not exist is fine. Empty = none.
	Home string

	// File is the file of the project. Empty = none; otherwise it must exist
	// and hold something.
	File string

	// Named says that a person named File (-c, AGENTD_CONFIG), which is to
	// trust it.
	Named bool

	// Trusted reports whether a person accepted exactly this content of a file
	// that was found and not named. path is absolute, sha256 is over its bytes,
	// in hexadecimal. Nil trusts nothing. From a file that is not trusted only
	// that stays which tightens; see [Document.LeftOut].
	Trusted func(path, sha256 string) bool

	// Environ is the environment, as from os.Environ: for variables in files,
	// and for AGENTD_PLUGINS__AGENT__MODEL=x settings.
	Environ []string

	// Reserved are names of AGENTD_ variables that are no settings, beside
	// AGENTD_CONFIG and AGENTD_HOME.
	Reserved []string

	// Set are settings from the command line: path=value.
	Set []string

	// Read replaces ReadFile for Home and File, for who has read them already.
	Read func(path string) (*File, error)

	// AllowLoose turns the refusal of a trusted file that others may write into
	// a warning.
	AllowLoose bool
}

// builtinName stands for a file in positions of the built-in layer.
const builtinName = "built-in"

// Load reads and checks a configuration. It changes nothing and starts
// nothing. Its error is an [Errors] with every issue that was found, or wraps
// fs.ErrNotExist if Sources.File is missing. Of a file that nobody trusted what
// is left out is checked, too, but for the values of variables.
func (s *Schema) Load(src Sources) (*Document, error) {
	l := s.newLoad(src)
	if err := l.run(); err != nil {
		return nil, l.hide(err)
	}
	return l.doc, nil
}

// Wants says what a file asks for beyond what one that nobody trusted may do,
// and, as an [Errors], what is wrong with it. Only the file itself counts.
func (s *Schema) Wants(f *File) ([]LeftOut, error) {
	l := s.newLoad(Sources{File: f.Path, Read: func(string) (*File, error) { return f, nil }})
	err := l.run()
	return l.doc.LeftOut, err
}

func (s *Schema) newLoad(src Sources) *load {
	return &load{schema: s, src: src, ko: koanf.New(sep), broken: map[string]bool{}, doc: &Document{File: src.File}}
}

// run goes through the pipeline, and once more for what a file that is not
// trusted would be wrong about if it were.
func (l *load) run() error {
	if err := l.pipeline(); err != nil {
		return err
	}
	if l.reduced == nil {
		return l.issues.err()
	}
	dry := l.schema.newLoad(l.src)
	dry.dry, dry.src.Named, dry.src.Trusted = true, false, nil
	dry.src.Read = func(path string) (*File, error) {
		if path == l.reduced.Path {
			return l.reduced, nil
		}
		return l.read(path)
	}
	if err := dry.pipeline(); err != nil {
		return err
	}
	for _, i := range dry.issues.issues {
		if !slices.Contains(l.issues.issues, i) {
			l.issues.add(i)
		}
	}
	return l.issues.err()
}

// pipeline reads and checks. The error is of the kind that nothing more can be
// said; the others are in issues.
func (l *load) pipeline() error {
	if err := l.files(); err != nil {
		return err
	}
	if l.unreadable {
		return l.issues.err()
	}
	l.environment()
	l.set()
	l.check()
	return nil
}

// load is one run of the pipeline.
type load struct {
	schema     *Schema
	src        Sources
	ko         *koanf.Koanf
	layers     layers
	issues     collector
	unreadable bool // a file could not be parsed, so that the rest can't be judged
	broken     map[string]bool
	reduced    *File // a file that nobody trusted, and that was reduced
	doc        *Document

	// A dry run checks a file that nobody trusted as if it were, but for what
	// depends on its variables: it reads none.
	dry     bool
	reading map[string]bool // in a dry run: paths at or below which a variable is referred to
}

func (l *load) files() error {
	if len(l.src.Builtin) > 0 {
		l.file(newFile(builtinName, l.src.Builtin, nil), true)
	}
	if l.src.Home != "" {
		f, err := l.read(l.src.Home)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.unreadableFile(err)
		}
		if err == nil {
			l.owned(f)
			l.file(f, true)
		}
	}
	if l.src.File == "" {
		return nil
	}
	f, err := l.read(l.src.File)
	if errors.Is(err, fs.ErrNotExist) && len(l.issues.issues) == 0 {
		return err
	}
	if err != nil {
		l.unreadableFile(err)
		return nil
	}
	trusted := l.src.Named || l.trusted(f)
	if l.src.Named {
		l.owned(f)
	}
	l.file(f, trusted)
	return nil
}

func (l *load) read(path string) (*File, error) {
	if l.src.Read != nil {
		return l.src.Read(path)
	}
	return ReadFile(path)
}

// unreadableFile reports a file that can't be read.
func (l *load) unreadableFile(err error) {
	var (
		issues Errors
		one    *fileError
	)
	switch {
	case errors.As(err, &issues):
		l.issues.issues = append(l.issues.issues, issues...)
	case errors.As(err, &one):
		l.issues.add(one.issue)
	default:
		l.issues.add(Issue{Message: err.Error()})
	}
	l.unreadable = true
}

// minSecret is the shortest value that is kept as a secret: shorter ones stand
// in ordinary text.
const minSecret = 8

// secret keeps a value that came from a variable.
func (l *load) secret(value string) {
	if len(value) >= minSecret && !slices.Contains(l.doc.Secrets, value) {
		l.doc.Secrets = append(l.doc.Secrets, value)
	}
}

// hide takes the secrets out of issues: a plugin's own check may say what it
// was given.
func (l *load) hide(err error) error {
	issues, ok := err.(Errors)
	if !ok || len(l.doc.Secrets) == 0 {
		return err
	}
	for i := range issues {
		for _, secret := range l.doc.Secrets {
			for _, text := range []*string{&issues[i].Message, &issues[i].Got} {
				*text = strings.ReplaceAll(*text, secret, Redacted)
			}
		}
	}
	return issues
}

func (l *load) trusted(f *File) bool {
	if l.src.Trusted == nil {
		return false
	}
	path, err := filepath.Abs(f.Path)
	return err == nil && l.src.Trusted(path, f.SHA256)
}

// owned refuses a file that is believed because of where it lies, if others
// may write it. (What is believed for its content needs no such check.)
func (l *load) owned(f *File) {
	what := ownership(f.info)
	if what == "" {
		return
	}
	issue := Issue{Pos: Position{File: f.Path}, Message: what}
	if l.src.AllowLoose {
		l.doc.Warnings = append(l.doc.Warnings, issue)
		return
	}
	l.issues.add(issue)
	l.unreadable = true
}

// file adds a file as the next layer.
func (l *load) file(f *File, trusted bool) {
	l.doc.Files = append(l.doc.Files, FileInfo{Path: f.Path, SHA256: f.SHA256, Trusted: trusted})
	p := &fileParser{load: l, file: f, trusted: trusted, out: newLayer(f.Path, true)}
	before := len(l.issues.issues)
	err := l.ko.Load(rawbytes.Provider(f.Bytes), p, koanf.WithMergeFunc(l.merger(p.out)))
	var issues Errors
	switch {
	case errors.As(err, &issues):
		l.issues.issues = append(l.issues.issues, issues...)
		l.unreadable = true
	case err != nil:
		l.issues.add(Issue{Pos: Position{File: f.Path}, Message: err.Error()})
		l.unreadable = true
	}
	if p.exhausted && len(l.issues.issues) > before {
		l.unreadable = true
	}
	l.layers = append(l.layers, p.out)
}

// fileParser is the koanf.Parser of agent.yml.
type fileParser struct {
	load      *load
	file      *File
	trusted   bool
	out       *layer
	exhausted bool
}

// Unmarshal parses a file into the form of the merged tree.
func (p *fileParser) Unmarshal(b []byte) (map[string]any, error) {
	text, err := checkText(p.file.Path, b)
	if err != nil {
		return nil, err
	}
	root, err := parse(p.file.Path, text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fileIssue(p.file.Path, "the file is empty; write plugins: {} if no plugin should run")
	}
	w := newWalker(p.file.Path, p.load.schema, &p.load.issues, p.out)
	w.broken, w.expand = p.load.broken, findOnly
	if p.trusted {
		dir := filepath.Dir(p.file.Path)
		vars := newVariables(p.load.src.Environ, dir)
		vars.used = p.load.secret
		w.expand = vars.expand
	}
	w.document(root)
	p.exhausted = w.exhausted
	switch {
	case p.trusted:
	case p.load.dry:
		p.load.reading = readingPaths(p.out)
	default:
		p.load.reduced = p.file
		p.load.reduce(p.out)
	}
	return p.out.root, nil
}

// Marshal is not possible; edits change the file's own bytes.
func (p *fileParser) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.New("agent.yml is edited in place, never written anew")
}

// findOnly finds variables without reading any.
func findOnly(s string, _ int) (string, []reference, error) {
	_, refs, err := scanText(s)
	if err != nil || len(refs) > 0 {
		return s, refs, err
	}
	return unescapeDollars(s), nil, nil
}

func unescapeDollars(s string) string {
	parts, _, _ := scanText(s)
	return parts[0]
}

// merged returns a copy of what the layers so far add up to.
func (l *load) merged() map[string]any { return l.ko.Raw() }

// add merges a layer that did not come from a file.
func (l *load) add(out *layer, p koanf.Provider) {
	if err := l.ko.Load(p, nil, koanf.WithMergeFunc(l.merger(out))); err != nil {
		l.issues.add(Issue{Source: out.name, Message: err.Error()})
	}
	l.layers = append(l.layers, out)
}

func (l *load) addMap(out *layer) { l.add(out, confmap.Provider(out.root, "")) }

// sameJSON compares two values as they would be written.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

var _ koanf.Parser = (*fileParser)(nil)
