package disk

import (
	"bytes"
	"errors"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/permission"
)

// handlePath asks a handle for its own path, in the spelling of the disk and with
// firmlinks resolved.
func handlePath(fd int) (string, error) {
	var buf [4096]byte
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), unix.F_GETPATH, uintptr(unsafe.Pointer(&buf[0])))
	if errno != 0 {
		return "", errno
	}
	p := string(buf[:max(0, bytes.IndexByte(buf[:], 0))])
	if p == "" || p[0] != '/' {
		return "", errors.New("it is no file of the tree")
	}
	return p, nil
}

// kernelPath lets the system open a path for events only, which needs no right to
// read and does nothing to a FIFO or a device, and asks the handle where it is.
func kernelPath(full string, identity bool) (permission.Resolved, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(full, unix.O_EVTONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return
	})
	if err != nil {
		return permission.Resolved{}, err
	}
	defer closeFD(fd)
	p, err := handlePath(fd)
	if err != nil {
		return permission.Resolved{}, err
	}
	r := permission.Resolved{Canonical: p, Exists: true}
	var st unix.Stat_t
	if identity && unix.Fstat(fd, &st) == nil {
		r.Dev, r.Ino = uint64(st.Dev), st.Ino
	}
	return r, nil
}

// rootHandle proves nothing here: names may differ from the disk in case and in
// Unicode form, so the handle of the file itself is asked each time.
type rootHandle struct{}

func (*rootHandle) open(root string) error {
	_, err := kernelPath(root, false)
	return err
}

func (*rootHandle) close() error { return nil }

func (*rootHandle) prove(string, string, bool) (permission.Resolved, bool) {
	return permission.Resolved{}, false
}

// foldingMounts takes the volume of the root for all: APFS and HFS+ never tell
// Unicode forms apart, and tell cases apart only where they were made so. A root
// whose name has no letter to try it with counts as folding, which is stricter.
func foldingMounts(root string) []mount {
	fold := permission.Fold{Case: true, Norm: true}
	flipped := flip(path.Base(root))
	if root != "" && flipped != path.Base(root) {
		var a, b unix.Stat_t
		other := path.Join(path.Dir(root), flipped)
		fold.Case = unix.Stat(root, &a) != nil || unix.Stat(other, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
	}
	return []mount{{dir: "/", fold: fold}}
}

func flip(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}
