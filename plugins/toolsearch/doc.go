// Package toolsearch shows a model the few tools that matter of the many that
// there are, and lets it find, read and call the rest.
package toolsearch
