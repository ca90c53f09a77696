package cli

import (
	"log/slog"

	"go.uber.org/fx/fxevent"
)

// quietFx logs what fx does at debug level: its events are for those who work
// on the composition.
func quietFx(log *slog.Logger) fxevent.Logger {
	l := &fxevent.SlogLogger{Logger: log}
	l.UseLogLevel(slog.LevelDebug)
	l.UseErrorLevel(slog.LevelDebug)
	return l
}
