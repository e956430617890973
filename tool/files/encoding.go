package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // sizes of images
	_ "image/jpeg" // sizes of images
	_ "image/png"  // sizes of images
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how the text of a file is stored.
type encoding string

const (
	asUTF8    encoding = "UTF-8"
	asUTF8BOM encoding = "UTF-8 with byte order mark"
	asUTF16LE encoding = "UTF-16 little-endian"
	asUTF16BE encoding = "UTF-16 big-endian"
	asLatin1  encoding = "Latin-1" // bytes that are no UTF-8, shown one character each
	asDamaged encoding = "UTF-8 with damaged characters"
	asBinary  encoding = "binary"
)

// sniffed is how much of a file decides whether it is text, in bytes.
const sniffed = 8 << 10

var (
	bomUTF8 = []byte("\xef\xbb\xbf")
	bomLE   = []byte("\xff\xfe")
	bomBE   = []byte("\xfe\xff")
)

// encodingOf tells the encoding of content. last says that raw is all of it; else
// a character that is cut at its end is no damage.
func encodingOf(raw []byte, last bool) encoding {
	switch {
	case bytes.HasPrefix(raw, bomUTF8):
		if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) && last {
			return asBinary
		}
		return asUTF8BOM
	case bytes.HasPrefix(raw, bomLE) && (len(raw)%2 == 0 || !last):
		return wide(raw, asUTF16LE)
	case bytes.HasPrefix(raw, bomBE) && (len(raw)%2 == 0 || !last):
		return wide(raw, asUTF16BE)
	case bytes.IndexByte(raw, 0) >= 0:
		return asBinary
	}
	if !last {
		raw = raw[:len(raw)-cutRune(raw)]
	}
	if utf8.Valid(raw) {
		return asUTF8
	}
	good, bad := 0, 0
	for i := 0; i < len(raw); {
		if raw[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		i += n
	}
	if good > bad {
		return asDamaged
	}
	return asLatin1
}

// wide accepts UTF-16 that has no NUL character.
func wide(raw []byte, e encoding) encoding {
	for i := 2; i+1 < len(raw); i += 2 {
		if raw[i] == 0 && raw[i+1] == 0 {
			return asBinary
		}
	}
	return e
}

// cutRune is the number of bytes at the end of raw that begin a character.
func cutRune(raw []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		if c := raw[len(raw)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(raw[len(raw)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// decode gives the text of content, without a byte order mark. Bytes that are no
// UTF-8 in damaged text stay as they are.
func (e encoding) decode(raw []byte) string {
	switch e {
	case asUTF8BOM:
		return string(raw[len(bomUTF8):])
	case asUTF16LE, asUTF16BE:
		order := e.order()
		units := make([]uint16, 0, len(raw)/2)
		for i := 2; i+1 < len(raw); i += 2 {
			units = append(units, order.Uint16(raw[i:]))
		}
		return string(utf16.Decode(units))
	case asLatin1:
		var b strings.Builder
		b.Grow(len(raw) + len(raw)/8)
		for _, c := range raw {
			b.WriteRune(rune(c))
		}
		return b.String()
	}
	return string(raw)
}

// encode is the reverse of decode. A character that the encoding does not have is
// an error.
func (e encoding) encode(s string) ([]byte, error) {
	switch e {
	case asUTF8BOM:
		return append(bytes.Clone(bomUTF8), s...), nil
	case asUTF16LE, asUTF16BE:
		out := bytes.Clone(bomLE)
		if e == asUTF16BE {
			out = bytes.Clone(bomBE)
		}
		for _, u := range utf16.Encode([]rune(s)) {
			out = e.order().AppendUint16(out, u)
		}
		return out, nil
	case asLatin1:
		out := make([]byte, 0, len(s))
		for _, r := range s {
			if r > 0xff {
				return nil, fmt.Errorf("it is %s, which has no character %q", e, r)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return []byte(s), nil
}

func (e encoding) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if e == asUTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// describe says what content is that is no text.
func describe(head []byte) string {
	kind := http.DetectContentType(head)
	if c, format, err := image.DecodeConfig(bytes.NewReader(head)); err == nil {
		return fmt.Sprintf("an image (%s, %d x %d pixels)", format, c.Width, c.Height)
	}
	kind, _, _ = strings.Cut(kind, ";")
	if kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
		return "binary content"
	}
	return "binary content (" + kind + ")"
}

// ending is the line ending of a text.
type ending string

const (
	endLF    ending = "LF"
	endCRLF  ending = "CRLF"
	endMixed ending = "mixed LF and CRLF"
	endNone  ending = "" // a single line
)

func endingOf(s string) ending {
	all, crlf := strings.Count(s, "\n"), strings.Count(s, "\r\n")
	switch {
	case all == 0:
		return endNone
	case crlf == 0:
		return endLF
	case crlf == all:
		return endCRLF
	}
	return endMixed
}
