package canon

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// text reads one string, writes its canonical form and returns its characters.
func (w *writer) text() ([]byte, error) {
	start := w.pos + 1
	rest := w.in[start:]
	ascii := true
	for i, c := range rest {
		if ordinary[c] {
			continue
		}
		switch {
		case c >= utf8.RuneSelf:
			ascii = false
		case c == '"':
			if !ascii && !utf8.Valid(rest[:i]) {
				return nil, w.fail("a string that is not UTF-8")
			}
			w.out = append(w.out, w.in[w.pos:start+i+1]...)
			w.pos = start + i + 1
			return rest[:i], nil
		case c == '\\':
			return w.escaped(start)
		default:
			w.pos = start + i
			return nil, w.fail("a control character in a string; write it as an escape")
		}
	}
	w.pos = len(w.in)
	return nil, w.fail("a string without its closing quote")
}

// ordinary are the ASCII characters that stand for themselves in a string.
var ordinary = ordinaryTable()

func ordinaryTable() (table [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}

// escaped reads a string that has escapes, from its first character on.
func (w *writer) escaped(start int) ([]byte, error) {
	var chars []byte
	for w.pos = start; w.pos < len(w.in); {
		switch c := w.in[w.pos]; {
		case c == '"':
			w.pos++
			if !utf8.Valid(chars) {
				return nil, w.fail("a string that is not UTF-8")
			}
			w.out = appendText(w.out, chars)
			return chars, nil
		case c < 0x20:
			return nil, w.fail("a control character in a string; write it as an escape")
		case c != '\\':
			chars = append(chars, c)
			w.pos++
		default:
			r, err := w.escape()
			if err != nil {
				return nil, err
			}
			chars = utf8.AppendRune(chars, r)
		}
	}
	return nil, w.fail("a string without its closing quote")
}

// escape reads one escape sequence.
func (w *writer) escape() (rune, error) {
	if w.pos+1 < len(w.in) {
		if i := strings.IndexByte(`"\/bfnrt`, w.in[w.pos+1]); i >= 0 {
			w.pos += 2
			return rune("\"\\/\b\f\n\r\t"[i]), nil
		}
	}
	r, ok := w.unit()
	if !ok {
		return 0, w.fail("an unknown escape in a string")
	}
	if !utf16.IsSurrogate(r) {
		w.pos += 6
		return r, nil
	}
	w.pos += 6
	low, ok := w.unit()
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		w.pos -= 6
		return 0, w.fail("half of a surrogate pair, \\u%04x, in a string", r)
	}
	w.pos += 6
	return pair, nil
}

// unit looks at a \uXXXX at the current place.
func (w *writer) unit() (rune, bool) {
	if w.pos+6 > len(w.in) || w.in[w.pos] != '\\' || w.in[w.pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range w.in[w.pos+2 : w.pos+6] {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if d < 0 || c < '0' {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// appendText appends chars as a canonical JSON string.
func appendText(out, chars []byte) []byte {
	out = append(out, '"')
	for _, c := range chars {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= 0x20:
			out = append(out, c)
		default:
			if i := strings.IndexByte("\b\f\n\r\t", c); i >= 0 {
				out = append(out, '\\', "bfnrt"[i])
			} else {
				out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	return append(out, '"')
}

// safeDigits is the number of digits that any double carries exactly.
const safeDigits = 15

// number reads one number and writes its canonical form.
func (w *writer) number() error {
	start := w.pos
	whole, ok := w.scanNumber()
	if !ok {
		return w.fail("unexpected %s in a number", w.seen())
	}
	token := w.in[start:w.pos]
	if whole && len(token) <= safeDigits && !bytes.Equal(token, []byte("-0")) {
		w.out = append(w.out, token...)
		return nil
	}
	form, problem := formatNumber(string(token))
	if problem != "" {
		w.pos = start
		return w.fail("the number %.40s %s", token, problem)
	}
	w.out = append(w.out, form...)
	return nil
}

// scanNumber moves over one number; whole tells that it has neither fraction nor
// exponent.
func (w *writer) scanNumber() (whole, ok bool) {
	if w.in[w.pos] == '-' {
		w.pos++
	}
	if w.pos < len(w.in) && w.in[w.pos] == '0' {
		w.pos++
	} else if !w.digits() {
		return false, false
	}
	whole = true
	if w.pos < len(w.in) && w.in[w.pos] == '.' {
		whole = false
		w.pos++
		if !w.digits() {
			return false, false
		}
	}
	if w.pos < len(w.in) && w.in[w.pos]|0x20 == 'e' {
		whole = false
		w.pos++
		if w.pos < len(w.in) && (w.in[w.pos] == '+' || w.in[w.pos] == '-') {
			w.pos++
		}
		if !w.digits() {
			return false, false
		}
	}
	return whole, true
}

func (w *writer) digits() bool {
	start := w.pos
	for w.pos < len(w.in) && w.in[w.pos] >= '0' && w.in[w.pos] <= '9' {
		w.pos++
	}
	return w.pos > start
}

const maxSafe = 1 << 53

// formatNumber returns the canonical form of a JSON number, or what is wrong
// with it.
func formatNumber(token string) (form, problem string) {
	f, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return "", "is out of range"
	}
	if form, err = jcs.NumberToJSON(f); err != nil {
		return "", "is out of range"
	}
	if f != 0 && math.Abs(f) < maxSafe {
		return form, ""
	}
	digits, exp := decimal(token)
	gotDigits, gotExp := decimal(form)
	if digits == gotDigits && exp == gotExp {
		return form, ""
	}
	if f == 0 {
		return "", "is too small to be kept; write 0 or a string"
	}
	return "", "would become " + form + "; write it as a string"
}

// decimal splits a number into its significant digits, with sign, and the power
// of ten of the last one. Zero has no digits.
func decimal(token string) (digits string, exp int) {
	mantissa := token
	if i := strings.IndexAny(token, "eE"); i >= 0 {
		mantissa = token[:i]
		exp, _ = strconv.Atoi(token[i+1:]) // out of range only for zero, which has no exponent
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	exp -= len(fraction)
	all := strings.TrimLeft(integer+fraction, "0")
	digits = strings.TrimRight(all, "0")
	if digits == "" {
		return "", 0
	}
	return sign + digits, exp + len(all) - len(digits)
}
