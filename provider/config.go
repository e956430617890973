package provider

import (
	"net/http"
	"strings"
)

// Config is what every adapter of a vendor is made from.
type Config struct {
	Name    string // name in definitions and errors; empty takes the protocol's name
	BaseURL string // empty takes the vendor's public endpoint
	Key     string // may be empty for endpoints that need none
	// HTTPClient carries the requests with its Transport; nil takes the
	// default. Its timeout, jar and redirect policy are not used.
	HTTPClient *http.Client
	// MaxOutputTokens is the limit where a request has none; 0 takes
	// [DefaultMaxOutputTokens].
	MaxOutputTokens int
}

// OutputLimit returns the limit of output tokens that a request is sent with.
func (c Config) OutputLimit(req Request) int {
	switch {
	case req.MaxOutputTokens > 0:
		return req.MaxOutputTokens
	case c.MaxOutputTokens > 0:
		return c.MaxOutputTokens
	}
	return DefaultMaxOutputTokens
}

// redact removes the key from a text.
func (c Config) redact(s string) string {
	if len(c.Key) < 4 {
		return s
	}
	return strings.ReplaceAll(s, c.Key, "[redacted]")
}
