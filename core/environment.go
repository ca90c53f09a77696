package core

// Paths are the folders and files of this process. All are absolute.
type Paths struct {
	// Config is the file that was loaded, empty if there is none; Dir its
	// folder, else the working folder.
	Config, Dir string
	// Home is the user's agentd folder (~/.agentd): settings that a person
	// wrote.
	Home string
	// State is the folder (0700) for what agentd itself keeps.
	State string
}

// Environment is the service of the Paths, provided by the program.
var Environment = NewService[Paths]("environment")
