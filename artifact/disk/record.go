package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/tenonrun/tenon/artifact"
)

// format is the format of the records that are written.
const format = 1

// record is a line of a log: a revision, and the format when it is not 1.
type record struct {
	Format int `json:"format,omitempty"`
	artifact.Revision
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumLen = 8 // hex digits

// appendRecord adds the line of a revision to dst.
func appendRecord(dst []byte, r *artifact.Revision) ([]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return dst, err
	}
	dst = fmt.Appendf(dst, "%08x ", crc32.Checksum(raw, castagnoli))
	return append(append(dst, raw...), '\n'), nil
}

// Errors of a record.
var (
	errDamaged = errors.New("its checksum does not fit")
	errNewer   = errors.New("a newer version of the program wrote it")
)

// parseRecord reads a line without its end.
func parseRecord(line []byte) (artifact.Revision, error) {
	if len(line) < sumLen+1 || line[sumLen] != ' ' {
		return artifact.Revision{}, errDamaged
	}
	sum, err := strconv.ParseUint(string(line[:sumLen]), 16, 32)
	raw := line[sumLen+1:]
	if err != nil || crc32.Checksum(raw, castagnoli) != uint32(sum) {
		return artifact.Revision{}, errDamaged
	}
	if r, ok := scan(raw); ok {
		return r, nil
	}
	var rec record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return artifact.Revision{}, errors.Join(errNewer, err)
	}
	if rec.Format > format {
		return artifact.Revision{}, errNewer
	}
	return rec.Revision, nil
}

// scan reads what appendRecord writes, several times as fast as a decoder of any
// JSON. It gives up on whatever it does not know.
func scan(raw []byte) (r artifact.Revision, ok bool) {
	for lead := byte('{'); ; lead = ',' {
		if len(raw) < 3 || raw[0] != lead || raw[1] != '"' {
			return r, len(raw) == 1 && raw[0] == '}' && lead == ','
		}
		name, rest, found := bytes.Cut(raw[2:], []byte(`":`))
		if !found {
			return r, false
		}
		if raw, ok = scanMember(&r, name, rest); !ok {
			return r, false
		}
	}
}

// scanMember reads the value of a member and returns what follows.
func scanMember(r *artifact.Revision, name, raw []byte) (rest []byte, ok bool) {
	switch string(name) {
	case "id":
		return scanText(raw, &r.ID)
	case "seq":
		return scanNumber(raw, &r.Seq)
	case "device":
		return scanText(raw, &r.Device)
	case "artifact":
		return scanText(raw, &r.Artifact)
	case "title":
		return scanText(raw, &r.Title)
	case "mime":
		return scanText(raw, &r.Mime)
	case "language":
		return scanText(raw, &r.Language)
	case "version":
		return scanNumber(raw, &r.Version)
	case "sha256":
		return scanText(raw, &r.Digest)
	case "bytes":
		return scanNumber(raw, &r.Bytes)
	case "at":
		return scanNumber(raw, &r.At)
	case "after":
		return scanNumber(raw, &r.After)
	case "author":
		return scanText(raw, (*string)(&r.Author))
	}
	return nil, false
}

// scanText reads a string without escapes.
func scanText(raw []byte, into *string) (rest []byte, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, false
	}
	end := bytes.IndexByte(raw[1:], '"')
	if end < 0 || bytes.IndexByte(raw[1:1+end], '\\') >= 0 {
		return nil, false
	}
	*into = string(raw[1 : 1+end])
	return raw[end+2:], true
}

func scanNumber(raw []byte, into *int64) (rest []byte, ok bool) {
	end := bytes.IndexAny(raw, ",}")
	if end < 0 {
		return nil, false
	}
	n, err := strconv.ParseInt(string(raw[:end]), 10, 64)
	*into = n
	return raw[end:], err == nil
}
