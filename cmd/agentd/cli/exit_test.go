package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agentd-host/agentd/core/config"
)

func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"fine", nil, 0},
		{"an error", errors.New("broken"), 1},
		{"usage", usageError(errors.New("wrong flag")), 2},
		{"usage, wrapped", fmt.Errorf("tools: %w", usageError(errors.New("wrong flag"))), 2},
		{"a setting of the command line", fmt.Errorf("start: %w", config.Errors{{Source: "--set a"}}), 2},
		{"a setting of a file too", config.Errors{{Source: "--set a"}, {Path: "plugins.a"}}, 1},
		{"a setting of the environment", config.Errors{{Source: "env AGENTD_A"}}, 1},
		{"nobody to ask", nobodyError([]string{"run_command"}), 3},
		{"interrupted", context.Canceled, 130},
		{"interrupted, joined", errors.Join(fmt.Errorf("call: %w", context.Canceled)), 130},
		{"the daemon's code", &remoteError{Message: "no tool", Code: 2}, 2},
		{"the daemon's error", &remoteError{Message: "broken"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := exitCode(tc.err); got != tc.want {
				t.Errorf("exitCode(%v) = %d, want %d", tc.err, got, tc.want)
			}
		})
	}
}
