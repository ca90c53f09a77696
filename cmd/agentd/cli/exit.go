package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agentd-host/agentd/core/config"
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

// usageError is a mistake in how a command was called: an unknown command or
// flag, a wrong number of arguments, a value that has no such form, or a flag
// that names an agent, a server or a setting that agent.yml does not know.
func usageError(err error) error { return &codedError{exitUsage, err} }

// exitCode finds the code for an error.
func exitCode(err error) int {
	var coded *codedError
	var re *remoteError
	var issues config.Errors
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &re) && re.Code != 0:
		return re.Code
	case errors.As(err, &issues) && !slices.ContainsFunc(issues, inFiles):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}

// inFiles tells an issue of the configuration that is not one of --set.
func inFiles(i config.Issue) bool { return !strings.HasPrefix(i.Source, "--set ") }
