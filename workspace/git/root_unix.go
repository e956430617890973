//go:build unix

package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// stamped says that stamps tell every change on this system.
const stamped = true

// root is an open directory; the names of its methods are relative to it.
type root struct{ fd int }

func openRoot(dir string) (root, error) {
	fd, err := retry(func() (int, error) { return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	return root{fd}, err
}

func (r root) close() { unix.Close(r.fd) } //nolint:errcheck // only read

func (r root) lstat(name string) (stamp, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(r.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return stampOf(&st), err
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
		inode: uint64(st.Ino), device: uint64(st.Dev), mode: uint32(st.Mode), //nolint:unconvert // other systems have other types
	}
}

// hashFile returns the SHA-256 of a regular file and the stamp that it had before
// and after it was read. A link or pipe that took its place neither misleads nor
// blocks it; that, and a change, is errMoved.
func hashFile(ctx context.Context, r root, name string) (sum [sha256.Size]byte, s stamp, err error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(r.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		return sum, s, errMoved
	case err != nil:
		return sum, s, err
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	var before, after unix.Stat_t
	if _, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &before) }); err != nil {
		return sum, s, err
	}
	if s = stampOf(&before); !s.is(modeRegular) {
		return sum, s, errMoved
	}
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	sum, err = h.stream(ctx, s.size, func(buffer []byte) (int, error) {
		return retry(func() (int, error) { return unix.Read(fd, buffer) })
	})
	if err != nil {
		return sum, s, err
	}
	if _, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &after) }); err != nil {
		return sum, s, err
	}
	if stampOf(&after) != s {
		return sum, s, errMoved
	}
	return sum, s, nil
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// openOwn opens a regular file that nobody but this user may write.
func openOwn(name string) (*os.File, int64, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || st.Uid != uint32(os.Geteuid()) {
			err = fs.ErrPermission
		}
	}
	if err != nil {
		f.Close() //nolint:errcheck // only read
		return nil, 0, err
	}
	return f, info.Size(), nil
}
