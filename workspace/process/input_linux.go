package process

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input returns the open input of a command. It holds the whole text: when this
// process dies, the command must not take a part of it for all. A writer comes
// with it only where that is not possible.
func input(text []byte) (r, w *os.File, err error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		return os.Pipe()
	}
	f := os.NewFile(uintptr(fd), "stdin")
	_, err = f.Write(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, nil, nil
}
