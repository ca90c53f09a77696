package core

// Root is the folder that an agent works in.
type Root interface {
	// Path of the folder, absolute, links resolved.
	Path() string
}

// Workspace is the service of the Root, provided by plugin workspace. Without
// it the folder of agent.yml (Paths.Dir) stands in.
var Workspace = NewService[Root]("workspace")
