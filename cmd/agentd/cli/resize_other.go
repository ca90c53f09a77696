//go:build !unix

package cli

import "os"

// resizeSignals: there is no such signal here.
var resizeSignals []os.Signal
