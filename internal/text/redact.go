package text

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minSecret is the length in bytes from which a value is worth hiding: shorter
// ones occur in ordinary text.
const minSecret = 8

// Redactor hides secrets in text. The zero value, and nil, hide what looks like
// one: bearer tokens, values of secret-looking keys, user names and passwords in
// URLs, secret query parameters, private keys and well-known token prefixes. Made by
// NewRedactor it also hides known values. Safe for concurrent use.
type Redactor struct {
	values *strings.Replacer
}

// NewRedactor returns a Redactor that also hides the values, from 8 bytes on, of
// variables with secret-looking names in environ ("NAME=value", as of os.Environ),
// and the further secrets given. Values are found as they are, escaped for JSON or
// for a URL, and, when they have several lines, line by line.
func NewRedactor(environ []string, secrets ...string) *Redactor {
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && secretVariable(name) {
			secrets = append(slices.Clip(secrets), value)
		}
	}
	var forms []string
	for _, secret := range secrets {
		forms = appendForms(forms, secret)
	}
	if len(forms) == 0 {
		return &Redactor{}
	}
	slices.SortFunc(forms, func(a, b string) int { // longest first: it wins at the same place
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, Mark)
	}
	return &Redactor{values: strings.NewReplacer(pairs...)}
}

// appendForms appends the spellings under which a secret may turn up.
func appendForms(forms []string, secret string) []string {
	parts := []string{secret, strings.TrimSpace(secret)}
	if lines := strings.Split(secret, "\n"); len(lines) > 1 {
		parts = append(parts, lines...)
	}
	for _, part := range parts {
		part = strings.TrimRight(part, "\r")
		if len(part) < minSecret || strings.Contains(Mark, part) {
			continue
		}
		forms = append(forms, part, url.QueryEscape(part), url.PathEscape(part))
		if quoted, err := json.Marshal(part); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
		forms = append(forms, strings.Trim(string(appendString(nil, part)), `"`))
	}
	return forms
}

// Redact returns s without secrets. Patterns are looked for line by line, so text
// may be given in whole lines; only a private key is recognised over lines.
func (r *Redactor) Redact(s string) string {
	if r != nil && r.values != nil {
		s = r.values.Replace(s)
	}
	if !suspicious(s) {
		return s
	}
	s = hidePrivateKeys(s)
	var out strings.Builder
	out.Grow(len(s))
	for line := range strings.Lines(s) {
		hideLine(&out, line)
	}
	return out.String()
}

// RedactJSON returns raw with its string values redacted, those under
// secret-looking keys as a whole. Keys, numbers and structure stay, and so does
// every byte between them. Text that is not JSON is redacted as text. When there is
// nothing to hide, raw itself is returned.
func (r *Redactor) RedactJSON(raw []byte) []byte {
	if !r.worthReading(raw) {
		return raw
	}
	if !json.Valid(raw) {
		return []byte(r.Redact(string(raw)))
	}
	var out []byte
	done, key := 0, ""
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[', ',':
			key = ""
			continue
		case '"':
		default:
			continue
		}
		end := closingQuote(raw, i)
		value := decodeString(raw[i:end])
		if isKey(raw, end) {
			key = value
		} else if hidden := r.redactValue(key, value); hidden != value {
			out = append(out, raw[done:i]...)
			out = appendString(out, hidden)
			done = end
		}
		i = end - 1
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

func (r *Redactor) redactValue(key, value string) string {
	if key != "" && secretKey(key) && secretUnder(key, value) {
		return Mark
	}
	return r.Redact(value)
}

// worthReading tells whether raw JSON may hold a secret; escapes may hide one.
func (r *Redactor) worthReading(raw []byte) bool {
	s := string(raw)
	if suspicious(s) || strings.Contains(s, `\u`) || strings.Contains(s, `\/`) {
		return true
	}
	return r != nil && r.values != nil && r.values.Replace(s) != s
}

// closingQuote is the offset after the string that starts at i of valid JSON.
func closingQuote(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func isKey(raw []byte, i int) bool {
	for i < len(raw) && strings.IndexByte(" \t\r\n", raw[i]) >= 0 {
		i++
	}
	return i < len(raw) && raw[i] == ':'
}

func decodeString(raw []byte) string {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(raw) // not reached: the text is valid JSON
	}
	return s
}

// appendString appends s as a JSON string without escaping for HTML.
func appendString(out []byte, s string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(out, '"', '"') // not reached: a string can be encoded
	}
	return append(out, strings.TrimSuffix(b.String(), "\n")...)
}
