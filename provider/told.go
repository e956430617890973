package provider

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider/wire"
)

// told is a vendor's error message, read leniently: all vendors and the
// servers that imitate them use a handful of shapes.
type told struct {
	http      int // status of the answer, or the number told in a stream; 0 if neither
	kind      string
	codeWord  string
	status    string
	reason    string
	message   string
	requestID string
	perDay    bool
	perMinute bool
	delay     time.Duration
	resetAt   time.Time
	resetIn   time.Duration
}

func parseTold(body []byte, status int) told {
	t := told{http: status}
	body = bytes.TrimSpace(body)
	var root any
	if json.Unmarshal(body, &root) != nil {
		t.message = plain(body)
		return t
	}
	if list, ok := root.([]any); ok && len(list) > 0 {
		root = list[0]
	}
	obj, ok := root.(map[string]any)
	if !ok {
		t.message = plain(body)
		return t
	}
	t.requestID = str(obj["request_id"])
	e := obj
	switch inner := obj["error"].(type) {
	case map[string]any:
		e = inner
	case string:
		t.message = inner
	}
	t.kind, t.status = str(e["type"]), str(e["status"])
	if t.codeWord = str(e["code"]); t.codeWord == "" {
		t.number(e["code"])
	}
	for _, key := range []string{"message", "detail"} {
		if t.message == "" {
			t.message = str(e[key])
		}
	}
	if t.message == "" {
		t.message = string(body)
	}
	t.times(e)
	if details, ok := e["details"].([]any); ok {
		t.google(details)
	}
	return t
}

// number takes a status that is told in the body of a successful answer.
func (t *told) number(v any) {
	if n, ok := v.(float64); ok && t.http == 0 && n >= 300 && n < 600 {
		t.http = int(n)
	}
}

func (t *told) times(e map[string]any) {
	if n, ok := e["resets_at"].(float64); ok && n > 0 {
		t.resetAt = unix(n)
	}
	if n, ok := e["resets_in_seconds"].(float64); ok && n > 0 {
		t.resetIn = seconds(n)
	}
	if n, ok := e["retry_after"].(float64); ok && n > 0 {
		t.delay = seconds(n)
	}
	if m := regain().FindStringSubmatch(t.message); m != nil {
		if at, err := time.Parse("2006-01-02 15:04", m[1]+" "+m[2]); err == nil {
			t.resetAt = at
		}
	}
	if m := tryAgain().FindStringSubmatch(t.message); m != nil && t.delay == 0 {
		n, _ := strconv.ParseFloat(m[1], 64)
		switch unit := strings.ToLower(m[2]); {
		case unit == "ms":
			n /= 1000
		case strings.HasPrefix(unit, "m"):
			n *= 60
		}
		t.delay = seconds(n)
	}
}

var (
	regain   = text.MustPattern(`regain access on (\d{4}-\d\d-\d\d) at (\d\d:\d\d) UTC`)
	tryAgain = text.MustPattern(`(?i)(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?)\b`)
)

// google reads the typed details of a Google API error.
func (t *told) google(details []any) {
	for _, d := range details {
		m, _ := d.(map[string]any)
		if r := str(m["reason"]); r != "" {
			t.reason = r
		}
		if delay, err := time.ParseDuration(str(m["retryDelay"])); err == nil && delay > 0 {
			t.delay = delay
		}
		violations, _ := m["violations"].([]any)
		for _, v := range violations {
			vm, _ := v.(map[string]any)
			id := str(vm["quotaId"])
			t.perDay = t.perDay || strings.Contains(id, "PerDay")
			t.perMinute = t.perMinute || strings.Contains(id, "PerMinute")
		}
	}
}

// waits returns how long to wait and until when, from the header first.
func (t told) waits(x *wire.Exchange) (time.Duration, time.Time) {
	h, now := x.Header(), x.At()
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		now = d // the server's clock, by which its times are meant
	}
	wait, reset := retryAfter(h, now), t.resetAt
	if wait == 0 {
		wait = t.delay
	}
	if reset.IsZero() && t.resetIn > 0 {
		reset = now.Add(t.resetIn).UTC()
	}
	if reset.IsZero() {
		reset = resetHeader(h, now)
	}
	if wait == 0 && reset.After(now) {
		wait = reset.Sub(now)
	}
	return wait, reset
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if n, err := strconv.ParseFloat(h.Get(name), 64); err == nil && n > 0 {
			return seconds(n / 1000)
		}
	}
	v := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(v, 64); err == nil && n > 0 {
		return seconds(n)
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// resetHeader returns the latest reset among the limits that are used up.
func resetHeader(h http.Header, now time.Time) time.Time {
	var latest time.Time
	for _, l := range [][2]string{
		{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
		{"", "Anthropic-Ratelimit-Unified-Reset"},
		{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
		{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
		{"X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	} {
		if l[0] != "" && h.Get(l[0]) != "0" {
			continue
		}
		if at := resetTime(h.Get(l[1]), now); at.After(latest) {
			latest = at
		}
	}
	return latest
}

// resetTime reads a date, a duration, or a number: seconds from now, or a Unix
// time in seconds or milliseconds.
func resetTime(v string, now time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return at.UTC()
	}
	if d, err := time.ParseDuration(v); err == nil && d > 0 {
		return now.Add(d).UTC()
	}
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil || n <= 0:
		return time.Time{}
	case n < 1e8:
		return now.Add(seconds(n)).UTC()
	case n < 1e11:
		return unix(n)
	}
	return unix(n / 1000)
}

// unix converts seconds; a time beyond the year 9999 is none.
func unix(n float64) time.Time {
	if n >= 253402300800 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n * 1000)).UTC()
}

// seconds converts without overflow; nobody waits for more than a year.
func seconds(n float64) time.Duration {
	return time.Duration(min(n, 365*24*3600) * float64(time.Second))
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

var (
	titleTag = text.MustPattern(`(?is)<title[^>]*>(.*?)</title>`)
	anyTag   = text.MustPattern(`(?s)<[^>]*>`)
)

// plain is the readable text of a body that is not JSON.
func plain(body []byte) string {
	s := string(body)
	if !strings.HasPrefix(s, "<") {
		return s
	}
	if m := titleTag().FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	s = html.UnescapeString(anyTag().ReplaceAllString(s, " "))
	return "the answer is a web page: " + strings.Join(strings.Fields(s), " ")
}
