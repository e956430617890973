package process

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"unicode/utf8"

	"github.com/tenonrun/tenon/workspace"
)

// capture keeps the head and the tail of a stream within a cap, and hashes and
// counts all of it.
type capture struct {
	cap        int
	head, tail []byte // tail holds up to twice its share between trims
	total      int64
	sum        hash.Hash
}

func newCapture(limit int) *capture {
	if limit == 0 {
		limit = workspace.DefaultOutputCap
	}
	return &capture{cap: max(limit, workspace.MinOutputCap), sum: sha256.New()}
}

// add takes a chunk; it keeps no reference to p.
func (c *capture) add(p []byte) {
	c.total += int64(len(p))
	c.sum.Write(p)
	if room := c.cap/2 - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head, p = append(c.head, p[:n]...), p[n:]
	}
	share := c.cap - c.cap/2
	if len(p) > share {
		p = p[len(p)-share:]
		c.tail = c.tail[:0]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*share {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-share:]...)
	}
}

// bytes returns the stream within the cap, and whether some of it is missing.
func (c *capture) bytes() (kept []byte, truncated bool) {
	if share := c.cap - c.cap/2; len(c.tail) > share {
		c.tail = c.tail[len(c.tail)-share:]
	}
	if c.total == int64(len(c.head)+len(c.tail)) {
		return append(append([]byte(nil), c.head...), c.tail...), false
	}
	// The largest number that can appear fixes the room for the marker.
	room := len(marker(c.total))
	head := trimEnd(c.head)
	tail := trimStart(c.tail[min(room, len(c.tail)):])
	omitted := c.total - int64(len(head)+len(tail))
	kept = append(append([]byte(nil), head...), marker(omitted)...)
	return append(kept, tail...), true
}

func marker(omitted int64) string {
	return fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted)
}

// trimEnd drops a rune that the cut has split; other invalid bytes stay.
func trimEnd(p []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// trimStart drops the rest of a rune that the cut has split.
func trimStart(p []byte) []byte {
	for i := 0; i < utf8.UTFMax-1 && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}
