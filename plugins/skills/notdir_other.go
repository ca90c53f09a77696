//go:build !unix

package skills

// isNotDir: elsewhere a path through a file just does not exist.
func isNotDir(error) bool { return false }
