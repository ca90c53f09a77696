package statefile

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when anything about the file changed, which unlike the time of
// its content nobody can set; zero where the system does not tell.
func changeTime(info fs.FileInfo) time.Time {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(sys.Ctimespec.Unix())
	}
	return time.Time{}
}
