package vm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// segment tells where a place of the code comes from. All numbers are from 0.
type segment struct{ line, col, fromLine, fromCol int32 }

// readMap reads the mappings of a version 3 source map.
func readMap(raw []byte) ([]segment, error) {
	var m struct {
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("reading the source map: %w", err)
	}
	var out []segment
	var fromLine, fromCol int32
	for line, group := range strings.Split(m.Mappings, ";") {
		var col int32
		for field := range strings.SplitSeq(group, ",") {
			if field == "" {
				continue
			}
			n, err := vlq(field)
			if err != nil {
				return nil, err
			}
			if len(n) == 0 {
				continue
			}
			col += n[0]
			if len(n) < 4 {
				continue
			}
			fromLine += n[2]
			fromCol += n[3]
			out = append(out, segment{int32(line), col, fromLine, fromCol})
		}
	}
	return out, nil
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// vlq reads numbers of six bits a digit, the lowest first, the sign lowest.
func vlq(s string) ([]int32, error) {
	var out []int32
	var n, shift uint32
	for i := range len(s) {
		d := strings.IndexByte(base64, s[i])
		if d < 0 || shift > 30 {
			return nil, fmt.Errorf("the source map holds %q", s)
		}
		n |= uint32(d&31) << shift
		if d&32 != 0 {
			shift += 5
			continue
		}
		v := int32(n >> 1)
		if n&1 != 0 {
			v = -v
		}
		out = append(out, v)
		n, shift = 0, 0
	}
	return out, nil
}

// origin returns the place in the source of a place of the code (both from 1).
func (s *Script) origin(line, col int) (fromLine, fromCol int, ok bool) {
	at := segment{line: int32(line - 1), col: int32(col - 1)}
	i, found := slices.BinarySearchFunc(s.maps, at, func(a, b segment) int {
		if a.line != b.line {
			return int(a.line - b.line)
		}
		return int(a.col - b.col)
	})
	if !found {
		i--
	}
	if i < 0 || s.maps[i].line != at.line {
		return 0, 0, false
	}
	from := s.maps[i]
	return int(from.fromLine) + 1, columnOf(int(from.fromLine)+1, int(from.fromCol)), true
}
