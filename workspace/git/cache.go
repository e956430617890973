package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// record says that the file with this stamp had this SHA-256. It is kept only
// when the stamp was settled: a write afterwards gives the file another stamp, as
// far as the kernel notes it (see settled).
type record struct {
	name string // slash-separated, relative to the repository
	stamp
	sum [sha256.Size]byte
}

// cache holds the records of one repository. Without a file it is empty and
// keeps nothing.
type cache struct {
	file    string
	key     [sha256.Size]byte
	now     func() time.Time
	slack   time.Duration
	records []record // sorted by name
	same    []bool   // the file had the stamp of its record during this digest
	used    []bool

	mu    sync.Mutex
	fresh []record
}

// newCache returns the empty cache of a repository at a canonical directory. The
// key ties its file to this machine, user, repository and directory.
func (k *Candidate) newCache(id, dir string) *cache {
	c := &cache{now: k.now, slack: k.slack}
	if k.cache == "" || !stamped {
		return c
	}
	e := newEncoder()
	host, _ := os.Hostname()                     //nolint:errcheck // an unknown host has an empty name
	machine, _ := os.ReadFile("/etc/machine-id") //nolint:errcheck // many systems have none
	for _, part := range []string{host, string(machine), strconv.Itoa(os.Geteuid()), id, dir} {
		e.field(part)
	}
	c.key = e.sum()
	c.file = filepath.Join(k.cache, hex.EncodeToString(c.key[:12])+".stat")
	return c
}

// load reads the file. Whatever is wrong with it leaves the cache empty.
func (c *cache) load() {
	if c.file == "" {
		return
	}
	f, size, err := openOwn(c.file)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // only read
	raw := make([]byte, size)
	if _, err := io.ReadFull(f, raw); err != nil {
		return
	}
	c.records = decode(raw, c.key, c.now())
	c.same, c.used = make([]bool, len(c.records)), make([]bool, len(c.records))
}

// compare looks at the files of all records.
func (c *cache) compare(ctx context.Context, r root, workers int) error {
	return share(ctx, workers, len(c.records), func() func(int) error {
		dirs := realDirs{root: r}
		return func(i int) error {
			if dirs.holds(path.Dir(c.records[i].name)) {
				s, err := r.lstat(c.records[i].name)
				c.same[i] = err == nil && s == c.records[i].stamp
			}
			return nil
		}
	})
}

// find returns the record of a file that has not changed. from is where a caller
// who asks in the order of names is.
func (c *cache) find(name string, from *int) (record, bool) {
	i := *from
	if i >= len(c.records) || c.records[i].name != name {
		i, _ = slices.BinarySearchFunc(c.records, name, func(r record, name string) int { return strings.Compare(r.name, name) })
	}
	if i >= len(c.records) || c.records[i].name != name {
		return record{}, false
	}
	*from = i + 1
	if !c.same[i] {
		return record{}, false
	}
	c.used[i] = true
	return c.records[i], true
}

// add keeps what was read at the given time.
func (c *cache) add(name string, s stamp, sum [sha256.Size]byte, read time.Time) {
	if c.file == "" || !s.settled(read, c.slack) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh = append(c.fresh, record{name, s, sum})
}

// save replaces the file when something changed. A cache that cannot be written
// only makes the next digest slower.
func (c *cache) save() {
	if c.file == "" || len(c.fresh) == 0 && !slices.Contains(c.used, false) {
		return
	}
	kept := slices.Grow(c.fresh, len(c.records))
	for i, r := range c.records {
		if c.used[i] {
			kept = append(kept, r)
		}
	}
	slices.SortFunc(kept, func(a, b record) int { return strings.Compare(a.name, b.name) })
	kept = slices.CompactFunc(kept, func(a, b record) bool { return a.name == b.name })
	dir := filepath.Dir(c.file)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	c.sweep()
	f, err := os.CreateTemp(dir, filepath.Base(c.file)+".*"+temporary)
	if err != nil {
		return
	}
	_, err = f.Write(encode(kept, c.key, c.now()))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), c.file)
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // swept later
	}
}

const temporary = ".tmp"

// sweep removes what killed processes left.
func (c *cache) sweep() {
	left, _ := filepath.Glob(c.file + ".*" + temporary) //nolint:errcheck // the pattern has no error
	for _, name := range left {
		if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(name) //nolint:errcheck // tried again next time
		}
	}
}

// The file is: magic, key, time of writing, number of records, the records, and
// the SHA-256 of all that. Numbers are little-endian.
const (
	magic      = "TENONST1"
	headSize   = len(magic) + sha256.Size + 8 + 8
	recordSize = 5*8 + 4 + 4 + sha256.Size // and the name
)

func encode(list []record, key [sha256.Size]byte, now time.Time) []byte {
	size := headSize + len(list)*recordSize + sha256.Size
	for i := range list {
		size += len(list[i].name)
	}
	b, le := make([]byte, 0, size), binary.LittleEndian
	b = append(append(b, magic...), key[:]...)
	b = le.AppendUint64(le.AppendUint64(b, uint64(now.UnixNano())), uint64(len(list)))
	for i := range list {
		r := &list[i]
		for _, n := range []uint64{uint64(r.size), uint64(r.mtime), uint64(r.ctime), r.inode, r.device} {
			b = le.AppendUint64(b, n)
		}
		b = le.AppendUint32(le.AppendUint32(b, r.mode), uint32(len(r.name)))
		b = append(append(b, r.sum[:]...), r.name...)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decode returns nothing when the file is torn, of another version or owner, or
// from the future: then the clock was set back, and a file could have the time of
// its record again.
func decode(raw []byte, key [sha256.Size]byte, now time.Time) []record {
	le := binary.LittleEndian
	body := len(raw) - sha256.Size
	if body < headSize || string(raw[:len(magic)]) != magic || !bytes.Equal(raw[len(magic):][:sha256.Size], key[:]) {
		return nil
	}
	if sum := sha256.Sum256(raw[:body]); !bytes.Equal(raw[body:], sum[:]) {
		return nil
	}
	written, count := int64(le.Uint64(raw[headSize-16:])), le.Uint64(raw[headSize-8:])
	if written > now.UnixNano() || count > uint64(body/recordSize) {
		return nil
	}
	text := string(raw[:body])
	list := make([]record, count)
	at := headSize
	for i := range list {
		if body-at < recordSize {
			return nil
		}
		b, r := raw[at:], &list[i]
		r.size, r.mtime, r.ctime = int64(le.Uint64(b)), int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:]))
		r.inode, r.device, r.mode = le.Uint64(b[24:]), le.Uint64(b[32:]), le.Uint32(b[40:])
		length := int(le.Uint32(b[44:]))
		at += recordSize + copy(r.sum[:], b[48:]) - sha256.Size
		if body-at < length {
			return nil
		}
		r.name = text[at : at+length]
		at += length
		if i > 0 && list[i-1].name >= r.name {
			return nil
		}
	}
	if at != body {
		return nil
	}
	return list
}
