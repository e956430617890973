//go:build linux || darwin

package disk

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/tool"
)

// errMoved says that a path does not lead any more where it was judged to lead.
var errMoved = errors.New("it is not any more what was judged")

// dir is a directory, held by its handle. Everything is reached from the handle
// by one name, and no link is followed.
type dir struct{ fd int }

// openDir opens the directory at a canonical path.
func openDir(canonical string) (*dir, error) {
	fd, err := openCanonical(canonical, dirOnly)
	if err != nil {
		return nil, err
	}
	d := &dir{fd}
	if err := d.verify(canonical); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// verify asks the handle whether it still is the directory at a path.
func (d *dir) verify(canonical string) error {
	p, err := handlePath(d.fd)
	if err != nil {
		return err
	}
	if p != canonical {
		return errMoved
	}
	return nil
}

func (d *dir) close() { closeFD(d.fd) }

// sync makes renames in the directory last.
func (d *dir) sync() error {
	h, err := d.list(".")
	if err != nil {
		return err
	}
	return errors.Join(h.Sync(), h.Close())
}

func (d *dir) openat(name string, flags int, mode uint32) (int, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, mode)
		return
	})
	if errors.Is(err, unix.ELOOP) {
		err = errMoved
	}
	return fd, err
}

// sub opens a directory in the directory.
func (d *dir) sub(name string) (*dir, error) {
	fd, err := d.openat(name, dirOnly, 0)
	if err != nil {
		return nil, err
	}
	return &dir{fd}, nil
}

func (d *dir) mkdir(name string) error { return unix.Mkdirat(d.fd, name, 0o755) }

// create makes a new file.
func (d *dir) create(name string) (*os.File, error) {
	fd, err := d.openat(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// read opens a regular file in the directory.
func (d *dir) read(name string) (*os.File, tool.Info, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, info, err
	}
	if info.Kind != tool.KindFile {
		return nil, info, notRegular(info.Kind)
	}
	fd, err := d.openat(name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, info, err
	}
	return checked(fd, name, info.Identity)
}

// checked makes a file of a descriptor that must be a certain regular file.
func checked(fd int, name string, want tool.Identity) (*os.File, tool.Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		closeFD(fd)
		return nil, tool.Info{}, err
	}
	info := tell(&st)
	if info.Kind != tool.KindFile || want != (tool.Identity{}) && info.Identity != want {
		closeFD(fd)
		return nil, info, errMoved
	}
	return os.NewFile(uintptr(fd), name), info, nil
}

func (d *dir) stat(name string) (tool.Info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return tool.Info{}, err
	}
	info := tell(&st)
	if info.Kind == tool.KindLink {
		buf := make([]byte, 4096)
		if n, err := unix.Readlinkat(d.fd, name, buf); err == nil {
			info.Target = string(buf[:n])
		}
	}
	return info, nil
}

// keepOwner gives a new file the owner of the one that it replaces, where the
// system lets us.
func (d *dir) keepOwner(name string, h *os.File) {
	var old, made unix.Stat_t
	fd := int(h.Fd())
	if unix.Fstatat(d.fd, name, &old, unix.AT_SYMLINK_NOFOLLOW) != nil || unix.Fstat(fd, &made) != nil {
		return
	}
	if old.Uid != made.Uid || old.Gid != made.Gid {
		_ = unix.Fchown(fd, int(old.Uid), int(old.Gid))
	}
}

// publish renames a file of the directory over another one; fresh says that there
// must be no other one.
func (d *dir) publish(from, to string, fresh bool) error {
	if fresh {
		err := renameNew(d.fd, from, to)
		if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	return unix.Renameat(d.fd, from, d.fd, to)
}

func (d *dir) remove(name string) error { return unix.Unlinkat(d.fd, name, 0) }

// list opens a reader of the entries. A system that does not tell the kind of an
// entry is asked again by name, the path of the directory.
func (d *dir) list(name string) (*os.File, error) {
	fd, err := d.openat(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func tell(st *unix.Stat_t) tool.Info {
	info := tool.Info{
		Kind: tool.KindOther, Size: st.Size, Disk: st.Blocks * 512, Mode: fs.FileMode(st.Mode & 0o777),
		ModTime: modTime(st), Links: uint64(st.Nlink), //nolint:unconvert // narrower on some systems
		Identity: tool.Identity{Dev: uint64(st.Dev), Ino: st.Ino}, //nolint:unconvert // narrower on some systems
	}
	mode32 := uint32(st.Mode) //nolint:unconvert // narrower on some systems
	for bit, mode := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if mode32&bit != 0 {
			info.Mode |= mode
		}
	}
	switch mode32 & unix.S_IFMT {
	case unix.S_IFREG:
		info.Kind = tool.KindFile
	case unix.S_IFDIR:
		info.Kind, info.Mode = tool.KindDir, info.Mode|fs.ModeDir
	case unix.S_IFLNK:
		info.Kind, info.Mode = tool.KindLink, info.Mode|fs.ModeSymlink
	case unix.S_IFIFO:
		info.Kind, info.Mode = tool.KindFIFO, info.Mode|fs.ModeNamedPipe
	case unix.S_IFSOCK:
		info.Kind, info.Mode = tool.KindSocket, info.Mode|fs.ModeSocket
	case unix.S_IFBLK, unix.S_IFCHR:
		info.Kind, info.Mode = tool.KindDevice, info.Mode|fs.ModeDevice
	}
	return info
}

func modTime(st *unix.Stat_t) time.Time { return time.Unix(st.Mtim.Unix()) }

// statCanonical looks at a canonical path.
func statCanonical(canonical string) (tool.Info, error) {
	dir, name := splitLast(canonical)
	if name == "" {
		name = "."
	}
	d, err := openDir(dir)
	if err != nil {
		return tool.Info{}, err
	}
	defer d.close()
	return d.stat(name)
}
