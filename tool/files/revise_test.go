package files

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
)

// FuzzEdit replaces any text in any content: what is outside the place stays byte
// for byte, and text without carriage returns is treated as strings.Replace does.
func FuzzEdit(f *testing.F) {
	for _, s := range [][3]string{{"a b\n", "b", "c"}, {"a\r\nb\r\n", "a\nb", "x\ny"}, {"\xef\xbb\xbfa", "a", ""}, {"\xff\xfea\x00\n\x00", "a", "é"}, {"caf\xe9", "é", "ü"},
		{"äö\xff", "ä", "b"}, {"aaa", "a", "aa"}, {"a\nb\r\nc", "c", "x\ny"}, {"\tif x {\n", "  if x {", "y"}, {"1\n", "     1\t1", "2"}} {
		f.Add([]byte(s[0]), s[1], s[2], true)
		f.Add([]byte(s[0]), s[1], s[2], false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, old, with string, all bool) {
		next, out, err := revise(tool.Call{}, raw, []replacement{{Old: &old, New: &with, All: all}})
		if err != nil {
			if !tool.ByModel(err) || strings.Contains(tool.Explain(err), "\x00") {
				t.Fatal(err)
			}
			return
		}
		code := encodingOf(raw, true)
		if out.Edits < 1 || !all && out.Edits != 1 {
			t.Fatalf("%d places", out.Edits)
		}
		before := code.decode(raw)
		if !strings.Contains(before, "\r") {
			want, err := code.encode(strings.ReplaceAll(before, old, with))
			if err != nil || !bytes.Equal(next, want) {
				t.Fatalf("%q: %q, want %q, %v", raw, next, want, err)
			}
		}
		if toCRLF(toLF(before)) == before && endingOf(before) == endCRLF && !strings.Contains(old+with, "\r") {
			want, err := code.encode(toCRLF(strings.ReplaceAll(toLF(before), old, with)))
			if err != nil || !bytes.Equal(next, want) {
				t.Fatalf("%q: %q, want %q, %v", raw, next, want, err)
			}
		}
	})
}

// FuzzEncoding holds that what is told to be text decodes and encodes without a
// change, or is refused.
func FuzzEncoding(f *testing.F) {
	for _, s := range []string{"", "a", "\xef\xbb\xbf", "\xff\xfe", "\xff\xfea\x00", "\xfe\xff\x00a", "\xc3", "caf\xe9", "\x00", "äöü\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		code := encodingOf(raw, true)
		if head := encodingOf(raw, false); code == asUTF8 && head != asUTF8 {
			t.Fatalf("%q is %s as a whole and %s as a part", raw, code, head)
		}
		if code == asBinary || code == asUTF16LE || code == asUTF16BE {
			return
		}
		if back, err := code.encode(code.decode(raw)); err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("%q as %s came back as %q, %v", raw, code, back, err)
		}
	})
}
