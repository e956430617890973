package disk

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/tool"
)

// dirOnly opens a directory to go on from, which needs no right to list it.
const dirOnly = unix.O_PATH | unix.O_DIRECTORY

// openCanonical opens a path on which no link may be.
func openCanonical(canonical string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW
	var fd int
	err := retry(func() (err error) {
		if hasOpenat2() {
			fd, err = unix.Openat2(unix.AT_FDCWD, canonical, &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
		} else {
			fd, err = unix.Open(canonical, flags, 0)
		}
		return
	})
	if errors.Is(err, unix.ELOOP) {
		err = errMoved
	}
	return fd, err
}

// openRegular opens the regular file at a canonical path. The first handle cannot
// read: a FIFO or a device is known before anything happens to it. The second is
// made from the first and so is the same file.
func openRegular(canonical string, want tool.Identity) (*os.File, tool.Info, error) {
	fd, err := openCanonical(canonical, unix.O_PATH)
	if err != nil {
		return nil, tool.Info{}, err
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, tool.Info{}, err
	}
	info := tell(&st)
	if info.Kind != tool.KindFile {
		return nil, info, notRegular(info.Kind)
	}
	p, err := handlePath(fd)
	if err != nil || p != canonical {
		return nil, info, errMoved
	}
	if want == (tool.Identity{}) {
		want = info.Identity
	}
	var file int
	err = retry(func() (err error) {
		file, err = unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return
	})
	if err != nil {
		return nil, info, err
	}
	return checked(file, canonical, want)
}

// renameNew renames and refuses when the new name is taken.
func renameNew(fd int, from, to string) error {
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}
