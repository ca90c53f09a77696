// Package command runs programs as run_command of the workspace does, knowing
// nothing of the workspace: in a process group of their own that ends with
// them, with an environment of allowed names only, their output bounded.
//
//	p := command.Program{Argv: command.Shell("go test ./..."), Dir: dir, Timeout: time.Minute, Output: 10_000}
//	res, err := p.Run(ctx)
//
// [Split] tells the programs that a command line would start, for who decides
// about them.
//
// All functions may be called from many goroutines.
package command
