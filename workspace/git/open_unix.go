//go:build unix

package git

import (
	"os"
	"syscall"
)

// open opens a regular file; a link or pipe that took its place neither misleads
// nor blocks it.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
