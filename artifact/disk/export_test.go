package disk

import (
	"fmt"
	"hash/crc32"
	"os"
)

// Fail makes what is written go wrong: f may fail a write of some bytes or, with
// nil bytes, a sync.
func (c *Collections) Fail(f func(name string, p []byte) error) {
	c.disk.write = func(file *os.File, p []byte, off int64) (int, error) {
		if err := f(file.Name(), p); err != nil {
			n, _ := file.WriteAt(p[:len(p)/2], off) // as much as there was room for
			return n, err
		}
		return file.WriteAt(p, off)
	}
	c.disk.sync = func(file *os.File) error {
		if err := f(file.Name(), nil); err != nil {
			return err
		}
		return file.Sync()
	}
}

// NoSync leaves out what makes things durable, to measure the rest.
func (c *Collections) NoSync() { c.disk.sync = func(*os.File) error { return nil } }

// Sealed returns a line of a log with a checksum that fits.
func Sealed(raw string) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum([]byte(raw), castagnoli), raw)
}

// OpenFiles counts the files of collections that are open.
func OpenFiles(c *Collections) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.open {
		s.mu.Lock()
		if s.journal.file != nil {
			n++
		}
		s.mu.Unlock()
		s.turn.Lock()
		if s.gate != nil {
			n++
		}
		s.turn.Unlock()
	}
	return n
}
