package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/tool"
)

// dirOnly opens a directory to go on from.
const dirOnly = unix.O_RDONLY | unix.O_DIRECTORY

// openCanonical opens a path on which no link may be: O_NOFOLLOW_ANY refuses a
// link at any place of it.
func openCanonical(canonical string, flags int) (int, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(canonical, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW_ANY, 0)
		return
	})
	if errors.Is(err, unix.ELOOP) {
		err = errMoved
	}
	return fd, err
}

// openRegular opens the regular file at a canonical path. It is looked at before
// it is opened, and without waiting: a FIFO or a device that takes its place in
// between is opened but never waited for or read.
func openRegular(canonical string, want tool.Identity) (*os.File, tool.Info, error) {
	parent, name := splitLast(canonical)
	d, err := openDir(parent)
	if err != nil {
		return nil, tool.Info{}, err
	}
	defer d.close()
	h, info, err := d.read(name)
	if err != nil {
		return nil, info, err
	}
	if p, err := handlePath(int(h.Fd())); err != nil || p != canonical || want != (tool.Identity{}) && info.Identity != want {
		h.Close()
		return nil, info, errMoved
	}
	return h, info, nil
}

// renameNew renames and refuses when the new name is taken.
func renameNew(fd int, from, to string) error {
	return unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL)
}
