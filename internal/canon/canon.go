// Package canon gives JSON one spelling and that spelling a digest.
//
// Holds: the canonical form of RFC 8785 (members sorted by UTF-16 code units, no
// space, shortest strings and numbers) and lower hex SHA-256 digests.
//
// Guarantees: two texts of the same value have the same canonical form; a text
// with two meanings (duplicate keys, lone surrogates, invalid UTF-8) or a number
// that the canonical form would turn into another one is refused, never repaired.
//
// Does not: judge size or content, nor keep anything between calls.
package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// MaxDepth is the number of nested arrays and objects that are accepted.
const MaxDepth = 1000

// Canonical returns the canonical form of one JSON text. It refuses what is not
// strict JSON, a duplicate key, a lone surrogate, invalid UTF-8, nesting beyond
// MaxDepth, a number out of range, and a number of 2^53 or more that a double
// cannot carry. Smaller fractions become the nearest double's shortest form, as
// the standard says. Errors are of type *Error and carry the byte offset.
func Canonical(raw []byte) ([]byte, error) {
	w := writer{in: raw, out: make([]byte, 0, len(raw))}
	w.space()
	if err := w.value(0); err != nil {
		return nil, err
	}
	w.space()
	if w.pos < len(w.in) {
		return nil, w.fail("unexpected %s after the value", w.seen())
	}
	return w.out, nil
}

// Sum returns the SHA-256 of raw as 64 lower hex digits.
func Sum(raw []byte) string {
	sum := sha256.Sum256(raw)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// Digest returns the Sum of the canonical form of v. A json.RawMessage is taken
// as it is, anything else is marshalled first (so a Go string that is not UTF-8
// counts with replacement characters).
func Digest(v any) (string, error) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return "", fmt.Errorf("digesting a %T: %w", v, err)
		}
	}
	form, err := Canonical(raw)
	if err != nil {
		return "", fmt.Errorf("digesting a %T: %w", v, err)
	}
	return Sum(form), nil
}

// Error says why a text has no canonical form.
type Error struct {
	Offset  int // byte offset in the text
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("no canonical JSON: %s (byte %d)", e.Message, e.Offset)
}
