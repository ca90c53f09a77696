//go:build !unix

package memory

import (
	"fmt"
	"os"
)

// checkMode refuses what is no file; there are no modes to look at.
func checkMode(file string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", file)
	}
	return nil
}
