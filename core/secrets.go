package core

// SecretKeeper knows values that must not be shown, logged or kept.
type SecretKeeper interface {
	// Secrets returns them as they are now. The slice must not be changed.
	Secrets() []string
}

// Secrets is the service of the SecretKeeper, provided by the program: what
// its configuration took from variables and files.
var Secrets = NewService[SecretKeeper]("secrets")
