//go:build !unix

package cli

import "os"

// hangupSignals: there is no such signal here.
var hangupSignals []os.Signal
