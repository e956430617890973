// Package ident makes the names of runs, questions and child runs.
//
// Holds: random ids, and ids derived from what they belong to.
//
// Guarantees: a derived id is the same in every replay; ids are lower-case
// letters and digits without look-alikes, safe in file names and easy to type
// by a prefix.
//
// Does not: sort by time. The store keeps the time.
package ident

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

var alphabet = base32.NewEncoding("abcdefghjkmnpqrstuvwxyz023456789").WithPadding(base32.NoPadding)

// length is the number of characters after the prefix: 50 bits.
const length = 10

// New returns a random id such as "r7kq2mfw9xa".
func New(prefix string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return prefix + alphabet.EncodeToString(b[:])[:length]
}

// Derive returns the id that belongs to the parts.
func Derive(prefix string, parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return prefix + alphabet.EncodeToString(h[:])[:length]
}
