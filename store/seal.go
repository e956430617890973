package store

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/tenonrun/tenon/workflow"
)

// Sum chains an event to its predecessor: the first 16 bytes of SHA-256 over
// the predecessor's Sum and every field of the event.
type Sum [16]byte

// Origin is the Sum before the first event of a run that shares no history.
func Origin(run workflow.RunID) Sum {
	h := sha256.Sum256([]byte("tenon run " + run))
	return Sum(h[:16])
}

// Seal returns the Sum of an event whose encoded payload is data.
func Seal(prev Sum, e workflow.Event, data []byte) Sum {
	buf := make([]byte, 0, 512)
	buf = append(buf, prev[:]...)
	for _, n := range [...]int64{e.Seq, int64(e.At), e.Epoch, int64(e.Visit), int64(e.Attempt), int64(e.Invocation)} {
		buf = binary.BigEndian.AppendUint64(buf, uint64(n))
	}
	for _, s := range [...]string{string(e.Type()), e.ID, e.Node} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(s)))
		buf = append(buf, s...)
	}
	buf = append(buf, data...)
	h := sha256.Sum256(buf)
	return Sum(h[:16])
}
