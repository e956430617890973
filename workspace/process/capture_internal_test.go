package process

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCapture(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 600).Draw(t, "limit")
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 700), 0, 6).Draw(t, "chunks")
		c := newCapture(limit)
		all := bytes.Join(chunks, nil)
		for _, chunk := range chunks {
			c.add(chunk)
		}
		kept, truncated := c.bytes()
		if c.total != int64(len(all)) || !bytes.Equal(c.sum.Sum(nil), sum(all)) {
			t.Fatalf("size or digest is wrong")
		}
		if len(kept) > max(limit, 128) || truncated != (len(all) > max(limit, 128)) {
			t.Fatalf("kept %d of %d, cap %d, truncated %v", len(kept), len(all), limit, truncated)
		}
		if !truncated && !bytes.Equal(kept, all) {
			t.Fatalf("an uncut stream was changed")
		}
		if !truncated {
			return
		}
		at := bytes.Index(kept, []byte("\n[... "))
		head, rest, _ := bytes.Cut(kept[at+1:], []byte(" ...]\n"))
		if !bytes.HasPrefix(all, kept[:at]) || !bytes.HasSuffix(all, rest) {
			t.Fatalf("head or tail is not of the stream: %q", head)
		}
	})
}

func sum(p []byte) []byte {
	s := sha256.Sum256(p)
	return s[:]
}

func TestCaptureKeepsRunesWhole(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		c := newCapture(200)
		c.add([]byte(strings.Repeat("x", shift) + strings.Repeat("😀é", 400)))
		if kept, _ := c.bytes(); !utf8.Valid(kept) {
			t.Errorf("shift %d: a rune was split: %q", shift, kept)
		}
	}
}
