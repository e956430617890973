package providertest

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Protocol is a vendor protocol that the server speaks.
type Protocol string

// The protocols.
const (
	Anthropic Protocol = "anthropic"
	Chat      Protocol = "chat"
	Responses Protocol = "responses"
	Gemini    Protocol = "gemini"
)

// Protocols are all of them.
func Protocols() []Protocol { return []Protocol{Anthropic, Chat, Responses, Gemini} }

// Call is a tool call in a reply.
type Call struct {
	ID   string // empty: one is made
	Name string
	Args string // JSON text, valid or not
}

// Tokens are counts by the rule of provider.Usage: Input holds Cached and
// CacheWrite, Output holds Reasoning. The server converts them to what the
// vendor would say.
type Tokens struct{ Input, Cached, CacheWrite, Output, Reasoning int64 }

// Reply says how one request is answered. The zero value answers "ok".
type Reply struct {
	Text      string
	Reasoning string
	Signature string // of the reasoning; what the vendor wants back
	Calls     []Call
	Tokens    *Tokens // nil: Input 100, Output 10
	NoUsage   bool    // leave usage out
	Blank     bool    // say nothing, where there would be "ok"
	Stop      string  // the vendor's word, instead of the fitting one
	Model     string  // the model that answers; empty: the one asked for
	Chunk     int     // characters in a delta; 0: about a quarter of the text; negative: all

	Delay time.Duration // before anything is sent

	// Failures. At most one of them.
	Status int    // answer with this status and a vendor's error body
	Hang   bool   // accept the request and never answer
	Empty  bool   // status 200 and nothing
	HTML   bool   // status 200, or Status, with a web page
	Cut    bool   // half a stream, then the connection is reset
	Stall  bool   // half a stream, then nothing
	End    bool   // half a stream, then a clean end
	Broken bool   // half a stream, then an event that is not JSON
	NUL    bool   // half a stream, then NUL bytes in an event
	Tell   string // half a stream, then an error event of this kind

	Kind    string            // the vendor's error type or code, with Status or Tell
	Message string            // the vendor's error message
	Header  map[string]string // further response headers
	Body    string            // instead of the error body
	Details string            // JSON of error.details (Gemini)
	Raw     string            // status 200 and exactly this stream
}

// chunks cuts a text into the deltas of a reply.
func (r Reply) chunks(s string) []string {
	size := r.Chunk
	if size < 0 || s == "" {
		return []string{s}
	}
	if size == 0 {
		size = max(1, (utf8.RuneCountInString(s)+3)/4)
	}
	var out []string
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n == size {
			out, n = append(out, b.String()), 0
			b.Reset()
		}
		b.WriteRune(c)
		n++
	}
	return append(out, b.String())
}

func (r Reply) tokens() Tokens {
	if r.Tokens == nil {
		return Tokens{Input: 100, Output: 10}
	}
	return *r.Tokens
}

func (r Reply) model(req Request) string {
	if r.Model != "" {
		return r.Model
	}
	return req.Model
}
