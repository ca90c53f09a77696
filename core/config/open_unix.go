//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep open from waiting for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC

// ownership says what is wrong with who may change the file, or "". A file
// that is writable for a group is fine if it is the owner's private one (the
// convention of most distributions: same number as the user).
func ownership(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	me := uint32(os.Geteuid())
	switch mode := info.Mode().Perm(); {
	case st.Uid != me && st.Uid != 0:
		return "the file belongs to another user"
	case mode&0o002 != 0:
		return "the file is writable for everybody (chmod o-w)"
	case mode&0o020 != 0 && st.Gid != st.Uid:
		return "the file is writable for its group (chmod g-w)"
	}
	return ""
}

// keepOwner gives f the owner of another file, if that is someone else.
func keepOwner(f *os.File, like fs.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == st.Uid && now.Gid == st.Gid {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// syncFolder makes a rename durable. Some file systems can't, which is no
// reason to call the write failed.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	d.Sync()
	return nil
}

// inode identifies a file or folder on this machine.
func inode(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
