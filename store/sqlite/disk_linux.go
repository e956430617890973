package sqlite

import "golang.org/x/sys/unix"

// noRoom reports whether a disk is full.
func noRoom(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 64<<10
}
