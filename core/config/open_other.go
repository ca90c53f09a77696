//go:build !unix

package config

import (
	"io/fs"
	"os"
)

const openFlags = os.O_RDONLY

// ownership is not checked where files have access lists.
func ownership(fs.FileInfo) string { return "" }

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func syncFolder(string) error { return nil }

// inode has no portable form; size and time of change have to do.
func inode(fs.FileInfo) string { return "" }
