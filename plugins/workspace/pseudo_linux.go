package workspace

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// refusePseudo refuses files of the kernel's pseudo file systems: they look
// regular, and hold the environment and memory of processes.
func refusePseudo(file *os.File, name string) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &st); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch int64(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC,
		unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC:
		return fmt.Errorf("%s belongs to the kernel's pseudo file systems, which are not part of a workspace", name)
	}
	return nil
}
