package cli

import (
	"context"
	"errors"
)

// The exit codes of every command.
const (
	exitFine        = 0
	exitError       = 1
	exitUsage       = 2
	exitNobody      = 3 // a tool call was denied because nobody could be asked
	exitInterrupted = 130
)

// exitError carries the code that a command ends with. An empty text: all was
// said already.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codedError) Unwrap() error { return e.err }

// usageError is a mistake in how a command was called.
func usageError(err error) error { return &codedError{exitUsage, err} }

// exitCode finds the code for an error.
func exitCode(err error) int {
	var coded *codedError
	var re *remoteError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &re) && re.Code != 0:
		return re.Code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}
