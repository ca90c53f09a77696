package config

// FileOf is a file as if it had been read.
func FileOf(path string, b []byte) *File { return newFile(path, b, nil) }

// Expand gives the interpolation to tests outside the package.
func Expand(s, dir string, environ ...string) (string, error) {
	out, _, err := newVariables(environ, dir).expand(s, maxText)
	return out, err
}

// EscapeDollars gives the inverse of Expand to tests.
func EscapeDollars(s string) string { return escapeDollars(s) }

// Spots gives the walk over links to tests, as folder/name.
func Spots(path string) []string {
	var out []string
	for _, s := range spots(path) {
		out = append(out, s.dir+"/"+s.name)
	}
	return out
}
