//go:build !linux && !darwin

package statefile

import (
	"io/fs"
	"time"
)

func changeTime(fs.FileInfo) time.Time { return time.Time{} }
