package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"sync"
	"time"
)

// stamp is what tells that a file is the same and unchanged without reading it.
// Times are Unix nanoseconds; mode has the bits of Unix on every system.
type stamp struct {
	size, mtime, ctime int64
	inode, device      uint64
	mode               uint32
}

const (
	modeType      = 0o170000
	modeDirectory = 0o040000
	modeRegular   = 0o100000
	modeLink      = 0o120000
	modeExecute   = 0o000100 // for the owner
)

func (s stamp) is(kind uint32) bool { return s.mode&modeType == kind }

// slack is more than the tick of any file system's clock: FAT counts in two
// seconds, others in at most one.
const slack = 2 * time.Second

// settled reports whether a write after the given time, when the file with this
// stamp was read, gives it another stamp. A file that changed within one tick
// before it was read could change again in the same tick. It holds for writes
// whose time the kernel notes, by a clock that runs forward. A store through a
// shared memory map to a page that is dirty already is none of them: the file
// keeps its stamp until the page is written out and touched again.
func (s stamp) settled(read time.Time, slack time.Duration) bool {
	limit := read.Add(-slack).UnixNano()
	return s.mtime < limit && s.ctime < limit
}

// errMoved says that a file changed while it was read.
var errMoved = errors.New("keeps changing while it is read: stop what writes it, or name it in a .gitignore")

// hasher is what a worker needs to read a file.
type hasher struct {
	hash   hash.Hash
	buffer []byte
}

var hashers = sync.Pool{New: func() any { return &hasher{sha256.New(), make([]byte, 128<<10)} }}

// stream hashes size bytes, or up to the end where that is elsewhere: a file that
// grew has another stamp afterwards.
func (h *hasher) stream(ctx context.Context, size int64, read func([]byte) (int, error)) (sum [sha256.Size]byte, err error) {
	h.hash.Reset()
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n, err := read(h.buffer)
		h.hash.Write(h.buffer[:max(n, 0)])
		done += int64(n)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return sum, err
		case n <= 0, done == size:
			h.hash.Sum(sum[:0])
			return sum, nil
		}
	}
}
