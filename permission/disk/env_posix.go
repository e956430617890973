//go:build linux || darwin

package disk

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/permission"
)

const separator = "/"

// join puts a spelling behind its base, unfolded. Separators at the end are no
// part of a name.
func join(base, spelled string) string {
	if base != "" {
		spelled = base + "/" + spelled
	}
	if n := len(spelled); n > 1 && spelled[n-1] == '/' {
		spelled = strings.TrimRight(spelled, "/")
		if spelled == "" {
			return "/"
		}
	}
	return spelled
}

// readlink reads a link; EINVAL says that something else is there.
func readlink(p string) (string, error) {
	var small [256]byte
	buf := small[:]
	for {
		var n int
		err := retry(func() (err error) { n, err = unix.Readlink(p, buf); return })
		if err != nil {
			return "", err
		}
		if n < len(buf) {
			return string(buf[:n]), nil
		}
		buf = make([]byte, 4*len(buf))
	}
}

// closeFD ends a descriptor that nothing was written through.
func closeFD(fd int) { _ = unix.Close(fd) }

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// resolveFull answers about an absolute unfolded path: the system opens it, or,
// when its end is missing, it is followed by hand.
func resolveFull(full string, identity bool) (permission.Resolved, error) {
	r, err := kernelPath(full, identity)
	if errors.Is(err, syscall.ENOENT) {
		var t trace
		t, err = follow(full, readlink)
		r = permission.Resolved{Canonical: t.canonical, Exists: t.exists}
	}
	if err != nil {
		return permission.Resolved{}, err
	}
	if target, err := readlink(full); target == "" && (errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOENT)) {
		return r, nil
	}
	list, err := hops(full, readlink, func(dir string) (string, error) {
		r, err := kernelPath(dir, false)
		if errors.Is(err, syscall.ENOENT) {
			t, err := follow(dir, readlink)
			return t.canonical, err
		}
		return r.Canonical, err
	})
	r.Hops, r.HopsUnread = list, err != nil
	return r, nil
}

func leadOf(location string) (permission.Lead, error) {
	lead, err := leadBy(location, readlink)
	if err != nil {
		return lead, err
	}
	// The system may know another name still, such as a firmlink of macOS.
	if r, err := kernelPath(location, false); err == nil {
		lead.To = r.Canonical
	}
	return lead, nil
}
