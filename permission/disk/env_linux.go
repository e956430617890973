package disk

import (
	"bufio"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/permission"
)

// handlePath asks a handle for its own path. A file that has none any more, or
// that is no file of the tree, gives an error.
func handlePath(fd int) (string, error) {
	var name [32]byte
	proc := strconv.AppendInt(append(name[:0], "/proc/self/fd/"...), int64(fd), 10)
	p, err := readlink(string(proc))
	if err != nil {
		return "", err
	}
	if p == "" || p[0] != '/' {
		return "", errors.New("it is no file of the tree")
	}
	if strings.HasSuffix(p, " (deleted)") {
		var at, is unix.Stat_t
		if unix.Fstat(fd, &is) != nil || unix.Lstat(p, &at) != nil || at.Dev != is.Dev || at.Ino != is.Ino {
			return "", errors.New("it was deleted")
		}
	}
	return p, nil
}

// kernelPath lets the system open a path and asks the handle where it is. The
// handle cannot read: nothing happens to a FIFO or a device.
func kernelPath(full string, identity bool) (permission.Resolved, error) {
	var fd int
	err := retry(func() (err error) { fd, err = unix.Open(full, unix.O_PATH|unix.O_CLOEXEC, 0); return })
	if err != nil {
		return permission.Resolved{}, err
	}
	defer closeFD(fd)
	p, err := handlePath(fd)
	if err != nil {
		return permission.Resolved{}, err
	}
	r := permission.Resolved{Canonical: p, Exists: true}
	if identity {
		identify(fd, &r)
	}
	return r, nil
}

func identify(fd int, r *permission.Resolved) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		r.Dev, r.Ino = st.Dev, st.Ino
	}
}

// beneath opens only what no link and no mount leads to.
var beneath = unix.OpenHow{
	Flags:   unix.O_PATH | unix.O_CLOEXEC,
	Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
}

// hasOpenat2 asks once whether the system has the call and lets us use it.
var hasOpenat2 = sync.OnceValue(func() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return false
	}
	closeFD(fd)
	return true
})

// rootHandle holds the root of a tree, so that one system call proves that a path
// below it passes no link.
type rootHandle struct {
	fd        int
	held      bool
	dir       string // as spelled, folded
	canonical string
	slow      bool // the file system may hang: nothing is asked on the caller's goroutine
}

func (h *rootHandle) open(root string) error {
	var fd int
	err := retry(func() (err error) { fd, err = unix.Open(root, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0); return })
	if err != nil {
		return err
	}
	p, err := handlePath(fd)
	if err != nil {
		closeFD(fd)
		return err
	}
	var st unix.Statfs_t
	remote := unix.Fstatfs(fd, &st) != nil || remoteTypes[int64(st.Type)] //nolint:unconvert // narrower on some systems
	*h = rootHandle{fd: fd, held: true, dir: path.Clean(root), canonical: p, slow: remote || !hasOpenat2()}
	return nil
}

// remoteTypes are file systems that wait for something outside the kernel.
var remoteTypes = map[int64]bool{
	unix.NFS_SUPER_MAGIC: true, unix.FUSE_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true,
	unix.CIFS_SUPER_MAGIC: true, unix.V9FS_MAGIC: true, unix.AFS_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, unix.AUTOFS_SUPER_MAGIC: true,
}

func (h *rootHandle) close() error {
	if !h.held {
		return nil
	}
	h.held = false
	return unix.Close(h.fd)
}

// prove answers about a path below the root that passes no link. full is unfolded,
// lexical is folded.
func (h *rootHandle) prove(full, lexical string, identity bool) (permission.Resolved, bool) {
	if !h.held || h.slow || !within(lexical, h.dir) || !within(full, h.dir) {
		return permission.Resolved{}, false
	}
	rel := strings.TrimLeft(full[len(h.dir):], "/")
	if rel == "" {
		rel = "."
	}
	r := permission.Resolved{Canonical: lexical, Exists: true}
	if h.canonical != h.dir {
		r.Canonical = path.Join(h.canonical, lexical[len(h.dir):])
	}
	fd, err := unix.Openat2(h.fd, rel, &beneath)
	if err == unix.ENOENT {
		return r, h.proveMissing(rel, &r)
	}
	if err != nil {
		return r, false
	}
	if identity {
		identify(fd, &r)
	}
	closeFD(fd)
	return r, true
}

// proveMissing proves that only the last name is missing.
func (h *rootHandle) proveMissing(rel string, r *permission.Resolved) bool {
	dir, leaf := path.Split(rel)
	if leaf == "" || leaf == "." || leaf == ".." {
		return false
	}
	if dir == "" {
		dir = "."
	}
	fd, err := unix.Openat2(h.fd, dir, &beneath)
	if err != nil {
		return false
	}
	defer closeFD(fd)
	var buf [1]byte
	if _, err := unix.Readlinkat(fd, leaf, buf[:]); err != unix.ENOENT {
		return false
	}
	r.Exists = false
	return true
}

// foldingTypes are file systems that take names for the same that differ in case.
var foldingTypes = map[string]permission.Fold{
	"vfat": {Case: true}, "exfat": {Case: true}, "msdos": {Case: true}, "ntfs": {Case: true}, "ntfs3": {Case: true}, "ntfs-3g": {Case: true}, "fuseblk": {Case: true},
	"cifs": {Case: true}, "smb3": {Case: true}, "9p": {Case: true}, "drvfs": {Case: true},
	"hfs": {Case: true}, "hfsplus": {Case: true, Norm: true}, "apfs": {Case: true, Norm: true},
}

// foldingMounts reads the table of mounts once. 9p folds only where it shows a
// Windows drive.
func foldingMounts(root string) []mount {
	var list []mount
	f, err := os.Open("/proc/self/mountinfo")
	if err == nil {
		defer done(f)
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			before, after, ok := strings.Cut(lines.Text(), " - ")
			fields, kind := strings.Fields(before), strings.Fields(after)
			if !ok || len(fields) < 6 || len(kind) < 2 {
				continue
			}
			fold := foldingTypes[kind[0]]
			switch {
			case kind[0] == "9p" && !strings.Contains(after, "aname=drvfs"):
				fold = permission.Fold{}
			case strings.Contains(after, "casefold"):
				fold.Case = true
			}
			list = append(list, mount{dir: unescapeMount(fields[4]), fold: fold})
		}
	}
	if root != "" && casefolded(root) {
		list = append(list, mount{dir: path.Clean(root), fold: permission.Fold{Case: true, Norm: true}})
	}
	for _, m := range list {
		if m.fold != (permission.Fold{}) {
			return list
		}
	}
	return nil
}

func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// casefolded asks whether a directory of ext4 or f2fs has the casefold flag.
func casefolded(dir string) bool {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer closeFD(fd)
	var flags uint32
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.FS_IOC_GETFLAGS, uintptr(unsafe.Pointer(&flags)))
	const casefold = 0x40000000
	return errno == 0 && flags&casefold != 0
}
