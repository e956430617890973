package git

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// encoder feeds a digest with fields that carry their length, so that no two
// different lists of fields are the same bytes.
type encoder struct {
	hash hash.Hash
	buf  []byte
}

func newEncoder() *encoder { return &encoder{sha256.New(), make([]byte, 0, 32<<10)} }

func (e *encoder) field(s string) {
	e.size(len(s))
	e.buf = append(append(e.buf, s...), ',')
}

// size starts a field and makes room for more of it.
func (e *encoder) size(n int) {
	if len(e.buf) > cap(e.buf)/2 {
		e.flush()
	}
	e.buf = append(strconv.AppendInt(e.buf, int64(n), 10), ':')
}

func (e *encoder) flush() {
	e.hash.Write(e.buf)
	e.buf = e.buf[:0]
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
		switch x.kind {
		case absent:
		case file, executable:
			e.field(string(x.kind))
			e.field(x.path)
			e.size(hex.EncodedLen(len(x.sum)))
			e.buf = append(hex.AppendEncode(e.buf, x.sum[:]), ',')
		default:
			e.field(string(x.kind))
			e.field(x.path)
			e.field(x.content)
		}
	}
}

func (e *encoder) sum() (sum [sha256.Size]byte) {
	e.flush()
	e.hash.Sum(sum[:0])
	return sum
}
