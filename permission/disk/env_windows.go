package disk

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
)

const separator = `\`

// join puts a spelling behind its base. Windows folds ".." before it looks at any
// directory, so the folded path is the one that is opened.
func join(base, spelled string) string {
	return pathid.Place(spelled, base, pathid.Win32).Path
}

// openAny opens a file or directory to be asked about only: no right is wanted,
// so nothing happens to it. Links and junctions are followed.
func openAny(full string, flags uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(full)
	if err != nil {
		return 0, err
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	return windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|flags, 0)
}

// handlePath asks a handle for its own path: long names, the case of the disk,
// junctions and mounts resolved.
func handlePath(h windows.Handle) (string, error) {
	buf := make([]uint16, 512)
	for {
		n, err := windows.GetFinalPathNameByHandle(h, &buf[0], uint32(len(buf)), 0)
		if err != nil {
			return "", err
		}
		if int(n) < len(buf) {
			p := windows.UTF16ToString(buf[:n])
			if rest, ok := strings.CutPrefix(p, `\\?\UNC\`); ok {
				return `\\` + rest, nil
			}
			return strings.TrimPrefix(p, `\\?\`), nil
		}
		buf = make([]uint16, n)
	}
}

func kernelPath(full string, identity bool) (permission.Resolved, error) {
	h, err := openAny(full, 0)
	if err != nil {
		return permission.Resolved{}, err
	}
	defer windows.CloseHandle(h)
	p, err := handlePath(h)
	if err != nil {
		return permission.Resolved{}, err
	}
	r := permission.Resolved{Canonical: p, Exists: true}
	var info windows.ByHandleFileInformation
	if identity && windows.GetFileInformationByHandle(h, &info) == nil {
		r.Dev, r.Ino = uint64(info.VolumeSerialNumber), uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow)
	}
	return r, nil
}

// resolveFull answers about an absolute folded path. A missing end is put behind
// the nearest directory that exists; a link that dangles is no missing name, and
// what it leads to is not known here.
func resolveFull(full string, identity bool) (permission.Resolved, error) {
	r, err := kernelPath(full, identity)
	tail := ""
	for at := full; errors.Is(err, fs.ErrNotExist); {
		if isLink(at) {
			return r, errors.New("it leads through a link that leads nowhere")
		}
		parent, name := splitLast(at)
		if name == "" || parent == at {
			return r, err
		}
		tail, at = separator+name+tail, parent
		if r, err = kernelPath(at, false); err == nil {
			r = permission.Resolved{Canonical: strings.TrimSuffix(r.Canonical, separator) + tail}
			return r, nil
		}
	}
	if err != nil || !isLink(full) {
		return r, err
	}
	r.Hops = []string{r.Canonical}
	for at, n := full, 0; isLink(at); n++ {
		parent, _ := splitLast(at)
		target, err := readlink(at)
		next := pathid.Place(target, parent, pathid.Win32)
		if err != nil || next.Kind != pathid.AtPath || n == maxLinks {
			r.HopsUnread = true
			return r, nil
		}
		at = next.Path
		r.Hops = append(r.Hops, at)
	}
	return r, nil
}

// isLink reports whether a link or junction has a name.
func isLink(full string) bool {
	name, err := windows.UTF16PtrFromString(full)
	if err != nil {
		return false
	}
	attributes, err := windows.GetFileAttributes(name)
	return err == nil && attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0
}

func readlink(full string) (string, error) {
	buf := make([]byte, 1<<15)
	n, err := syscall.Readlink(full, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// leadOf knows no links on the way: such a lead never widens an allow unless the
// location itself lies outside the writable directories.
func leadOf(location string) (permission.Lead, error) {
	r, err := resolveFull(location, false)
	return permission.Lead{To: r.Canonical}, err
}

// rootHandle proves nothing here: every name may be another name of the disk.
type rootHandle struct{}

func (*rootHandle) open(root string) error {
	_, err := kernelPath(root, false)
	return err
}

func (*rootHandle) close() error { return nil }

func (*rootHandle) prove(string, string, bool) (permission.Resolved, bool) {
	return permission.Resolved{}, false
}

// foldingMounts is empty: the judge folds every Windows path.
func foldingMounts(string) []mount { return nil }
