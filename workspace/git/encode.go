package git

import (
	"crypto/sha256"
	"hash"
	"strconv"
)

// encoder feeds a digest with fields that carry their length, so that no two
// different lists of fields are the same bytes.
type encoder struct {
	hash hash.Hash
	buf  []byte
}

func newEncoder() *encoder { return &encoder{hash: sha256.New()} }

func (e *encoder) field(s string) {
	e.buf = strconv.AppendInt(e.buf[:0], int64(len(s)), 10)
	e.buf = append(append(append(e.buf, ':'), s...), ',')
	e.hash.Write(e.buf)
}

func (e *encoder) count(n int) { e.field(strconv.Itoa(n)) }

func (e *encoder) flag(b bool) { e.field(strconv.FormatBool(b)) }

// entries adds what was read; entries without a kind have vanished.
func (e *encoder) entries(list []*entry) {
	n := 0
	for _, x := range list {
		if x.kind != absent {
			n++
		}
	}
	e.count(n)
	for _, x := range list {
		if x.kind != absent {
			e.field(string(x.kind))
			e.field(x.path)
			e.field(x.content)
		}
	}
}

func (e *encoder) sum() (sum [sha256.Size]byte) {
	e.hash.Sum(sum[:0])
	return sum
}
