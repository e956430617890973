// Package text bounds, cleans and compares text for people and models.
//
// Holds: rune-safe bounds by characters and bytes, redaction of secrets, the
// nearest name for "did you mean", and patterns that are compiled when they are
// used.
//
// Guarantees: bounded text is valid UTF-8 and within the bound asked for, marker
// included; redacting twice changes nothing more; a Redactor may be used by any
// number of goroutines.
//
// Does not: promise that every secret is recognised. Redaction is the last net,
// below not handing secrets out in the first place.
package text
