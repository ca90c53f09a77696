package core

// Truster answers whether a person accepted a file's exact content.
type Truster interface {
	// Trusted tells whether content of the file at path was accepted.
	Trusted(path string, content []byte) bool
}

// Trust is the service of the Truster, provided by the program. Without it
// nothing found in a folder is trusted.
var Trust = NewService[Truster]("trust")
