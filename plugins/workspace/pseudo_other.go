//go:build !linux

package workspace

import "os"

func refusePseudo(*os.File, string) error { return nil }
