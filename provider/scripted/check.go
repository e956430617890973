package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
)

func (c *checker) document(d *document) {
	if d.Version != 1 {
		c.add("/version", CodeInvalid, "write version: 1", "the version of the script is %d", d.Version)
	}
	for i := range d.Replies {
		c.reply(fmt.Sprintf("/replies/%d", i), &d.Replies[i])
	}
}

func (c *checker) reply(at string, r *reply) {
	for _, cond := range []struct {
		name, want string
		full       bool
	}{
		{"match", r.Match, false}, {"system", r.System, false}, {"model", r.Model, true}, {"node", r.Node, true}, {"command", r.Command, true},
	} {
		if cond.want != "" {
			r.conditions = append(r.conditions, c.condition(at+"/"+cond.name, cond.name, cond.want, cond.full))
		}
	}
	for name, n := range map[string]int{"turn": r.Turn, "attempt": r.Attempt, "times": r.Times, "chunk": r.Chunk} {
		if n < 0 {
			c.add(at+"/"+name, CodeInvalid, "leave it out where it does not matter", "%s is %d", name, n)
		}
	}
	if r.Text != nil && r.JSON != nil {
		c.add(at+"/json", CodeConflict, "keep one of them", "a reply has text or json, not both")
	}
	if r.Hang && r.Error != nil {
		c.add(at+"/hang", CodeConflict, "keep one of them", "a reply that hangs does not fail")
	}
	r.delay = c.duration(at+"/delay", r.Delay)
	r.usage = c.usage(at+"/usage", r.Usage)
	c.contents(at, r)
	if r.Error != nil {
		c.failure(at+"/error", r.Error)
	}
}

func (c *checker) condition(at, what, want string, full bool) condition {
	cond := condition{what: what, want: want, full: full}
	if len(want) < 3 || !strings.HasPrefix(want, "/") || !strings.HasSuffix(want, "/") {
		return cond
	}
	re, err := regexp.Compile(want[1 : len(want)-1])
	if err != nil {
		c.add(at, CodeInvalid, "regular expressions are those of Go (RE2)", "%v", err)
		return cond
	}
	cond.re = re
	return cond
}

func (c *checker) duration(at, s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		c.add(at, CodeInvalid, `durations look like "250ms" or "1m30s"`, "%q is no duration", s)
		return 0
	}
	return d
}

// usage reads counts, or the word auto.
func (c *checker) usage(at string, raw json.RawMessage) *usage {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	var u usage
	if string(raw) == `"auto"` {
		u.auto = true
		return &u
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		c.add(at, CodeInvalid, "write counts, or auto", "usage is neither an object of counts nor auto")
		return nil
	}
	for name, n := range map[string]*int64{"in": u.In, "cached": u.Cached, "cache_write": u.CacheWrite, "out": u.Out, "reasoning": u.Reasoning} {
		if n != nil && *n < 0 {
			c.add(at+"/"+name, CodeInvalid, "leave it out where it is unknown", "a count is negative")
		}
	}
	if u.Cost != nil && *u.Cost < 0 {
		c.add(at+"/cost", CodeInvalid, "leave it out where it is unknown", "the cost is negative")
	}
	return &u
}

var stops = []string{
	string(provider.StopEnd), string(provider.StopToolUse), string(provider.StopMaxTokens),
	string(provider.StopRefusal), string(provider.StopOther),
}

func (c *checker) contents(at string, r *reply) {
	if r.Stop != "" && !slices.Contains(stops, r.Stop) {
		c.add(at+"/stop", CodeInvalid, "it is one of "+strings.Join(stops, ", "), "there is no stop reason %q", r.Stop)
	}
	for i, call := range r.ToolCalls {
		if call.Name == "" {
			c.add(fmt.Sprintf("%s/tool_calls/%d", at, i), CodeMissing, "add name", "a tool call has no name")
		}
	}
	for i, f := range r.Files {
		place := fmt.Sprintf("%s/files/%d", at, i)
		if f.Path == "" {
			c.add(place, CodeMissing, "add path", "a file has no path")
		}
		if f.Delete && f.Content != "" {
			c.add(place, CodeConflict, "keep one of them", "a file has content or is deleted, not both")
		}
	}
	if p := r.PadWith; p != nil && (p.Char == "" || p.Count < 0 || p.Count*len(p.Char) > maxPadding) {
		c.add(at+"/pad_with", CodeInvalid, fmt.Sprintf("at most %d MiB", maxPadding>>20), "padding needs a char and a count that is not too large")
	}
}

var codes = []string{
	string(provider.CodeRateLimited), string(provider.CodeQuotaExhausted), string(provider.CodeOverloaded),
	string(provider.CodeContextLength), string(provider.CodeAuth), string(provider.CodeInvalidRequest),
	string(provider.CodeModelUnknown), string(provider.CodeRefused), string(provider.CodeTransport),
	string(provider.CodeStreamBroken), string(provider.CodeServerError), string(provider.CodeTimeout), string(provider.CodeCanceled),
}

func (c *checker) failure(at string, f *failure) {
	switch {
	case f.Code == "" && f.Status == 0:
		c.add(at, CodeMissing, "add code or status", "an error has neither code nor status")
	case f.Code == "" && (f.Status < 300 || f.Status > 599):
		c.add(at+"/status", CodeInvalid, "write a status from 300 to 599", "status %d is no failure", f.Status)
	case f.Code == "":
		f.Code = provider.CodeOfStatus(f.Status)
	case !slices.Contains(codes, string(f.Code)):
		hint := "it is one of " + strings.Join(codes, ", ")
		if near := text.Nearest(string(f.Code), codes); near != "" {
			hint = "did you mean " + near + "?"
		}
		c.add(at+"/code", CodeInvalid, hint, "there is no error code %q", f.Code)
	}
	f.retryAfter = c.duration(at+"/retry_after", f.RetryAfter)
	f.resetAfter = c.duration(at+"/reset_after", f.ResetAfter)
}
