package disk

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"github.com/tenonrun/tenon/tool"
)

// errMoved says that a path does not lead any more where it was judged to lead.
var errMoved = errors.New("it is not any more what was judged")

// dir is a directory, held by its handle. os.Root reaches names from the handle
// and follows no link out of it; links inside are refused here.
type dir struct{ root *os.Root }

func openDir(canonical string) (*dir, error) {
	root, err := os.OpenRoot(canonical)
	if err != nil {
		return nil, err
	}
	d := &dir{root}
	if err := d.verify(canonical); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// verify asks the handle whether it still is the directory at a path.
func (d *dir) verify(canonical string) error {
	h, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer h.Close()
	p, err := handlePath(windows.Handle(h.Fd()))
	if err != nil {
		return err
	}
	if p != canonical {
		return errMoved
	}
	return nil
}

func (d *dir) close() { d.root.Close() }

// sync has nothing to do: Windows keeps renames in its journal.
func (d *dir) sync() error { return nil }

func (d *dir) sub(name string) (*dir, error) {
	if info, err := d.root.Lstat(name); err != nil || !info.IsDir() {
		return nil, errors.Join(err, errMoved)
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &dir{root}, nil
}

func (d *dir) mkdir(name string) error { return d.root.Mkdir(name, 0o755) }

func (d *dir) create(name string) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (d *dir) read(name string) (*os.File, tool.Info, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, tool.Info{}, err
	}
	info := tell(before)
	if info.Kind != tool.KindFile {
		return nil, info, notRegular(info.Kind)
	}
	h, err := d.root.Open(name)
	if err != nil {
		return nil, info, err
	}
	if after, err := h.Stat(); err != nil || !os.SameFile(before, after) {
		h.Close()
		return nil, info, errMoved
	}
	identify(h, &info)
	return h, info, nil
}

func (d *dir) stat(name string) (tool.Info, error) {
	found, err := d.root.Lstat(name)
	if err != nil {
		return tool.Info{}, err
	}
	info := tell(found)
	if info.Kind == tool.KindLink {
		info.Target, _ = d.root.Readlink(name)
	}
	return info, nil
}

// keepOwner has nothing to do: a new file has the owner of its directory.
func (d *dir) keepOwner(string, *os.File) {}

func (d *dir) publish(from, to string, fresh bool) error {
	if fresh {
		if _, err := d.root.Lstat(to); err == nil {
			return fs.ErrExist
		}
	}
	return d.root.Rename(from, to)
}

func (d *dir) remove(name string) error { return d.root.Remove(name) }

func (d *dir) list(string) (*os.File, error) { return d.root.Open(".") }

func tell(found fs.FileInfo) tool.Info {
	info := tool.Info{Kind: kindOf(found.Mode()), Size: found.Size(), Disk: found.Size(), Mode: found.Mode(), ModTime: found.ModTime(), Links: 1}
	if found.Mode()&fs.ModeIrregular != 0 { // a junction
		info.Kind = tool.KindLink
	}
	return info
}

// identify asks an open file what it is and how many names it has.
func identify(h *os.File, info *tool.Info) {
	var by windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(h.Fd()), &by) == nil {
		info.Links = uint64(by.NumberOfLinks)
		info.Identity = tool.Identity{Dev: uint64(by.VolumeSerialNumber), Ino: uint64(by.FileIndexHigh)<<32 | uint64(by.FileIndexLow)}
	}
}

func statCanonical(canonical string) (tool.Info, error) {
	parent, name := splitLast(canonical)
	if name == "" {
		name = "."
	}
	d, err := openDir(parent)
	if err != nil {
		return tool.Info{}, err
	}
	defer d.close()
	info, err := d.stat(name)
	if err == nil && info.Kind == tool.KindFile {
		if h, opened, err := d.read(name); err == nil {
			h.Close()
			return opened, nil
		}
	}
	return info, err
}

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
	if p, err := handlePath(windows.Handle(h.Fd())); err != nil || p != canonical || want != (tool.Identity{}) && info.Identity != want {
		h.Close()
		return nil, info, errMoved
	}
	return h, info, nil
}
