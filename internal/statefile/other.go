//go:build !unix

package statefile

import "io/fs"

func checkOwner(fs.FileInfo) error { return nil }

func syncDir(string) error { return nil }
