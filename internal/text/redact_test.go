package text_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/text"
)

const m = text.Mark

func TestRedactPatterns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"bearer":            {"Authorization: Bearer abc.def-123456", "Authorization: Bearer " + m},
		"bearer alone":      {"sent bearer aB3dEf7hIjkl to host", "sent bearer " + m + " to host"},
		"basic":             {`curl -H "Authorization: Basic dXNlcjpwYXNz"`, `curl -H "Authorization: Basic ` + m + `"`},
		"env line":          {"OPENAI_API_KEY=abcd1234efgh\nHOME=/root\n", "OPENAI_API_KEY=" + m + "\nHOME=/root\n"},
		"password":          {"DB_PASSWORD=correcthorse", "DB_PASSWORD=" + m},
		"quoted password":   {`password: "correct horse battery"`, `password: "` + m + `"`},
		"escaped JSON":      {`{\"client_secret\":\"hush-hush\"}`, `{\"client_secret\":\"` + m + `\"}`},
		"yaml token":        {"  token: 9f8e7d6c5b4a", "  token: " + m},
		"flag":              {"tool --api-key 12345678 run", "tool --api-key " + m + " run"},
		"url password":      {"git clone https://bob:pw@example.com/r.git", "git clone https://" + m + "@example.com/r.git"},
		"url token":         {"https://0123456789abcdef01@example.com", "https://" + m + "@example.com"},
		"query":             {"GET /v1?key=abcdefghij&page=2", "GET /v1?key=" + m + "&page=2"},
		"signed url":        {"https://s3/x?X-Amz-Signature=00ff00ff00&n=1", "https://s3/x?X-Amz-Signature=" + m + "&n=1"},
		"sk":                {"key sk-ant-api03-abcdefghijkl rest", "key " + m + " rest"},
		"github":            {"ghp_0123456789abcdefghijABCDEF", m},
		"aws":               {"id AKIAIOSFODNN7EXAMPLE.", "id " + m + "."},
		"jwt":               {"eyJhbGciOiJI1.eyJzdWIiOiIx.c2lnbmF0dXJl", m},
		"private key":       {"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n" + m + "\nb"},
		"cut private key":   {"-----BEGIN PRIVATE KEY-----\nMIIE\nabcd", m},
		"two on a line":     {"A_TOKEN=abcd12345 B_TOKEN=efgh67890", "A_TOKEN=" + m + " B_TOKEN=" + m},
		"windows line ends": {"API_KEY=abcd12345\r\nx", "API_KEY=" + m + "\r\nx"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r text.Redactor
			if got := r.Redact(tt.in); got != tt.want {
				t.Errorf("Redact(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestRedactLeavesOrdinaryText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"",
		"tokens=123456789 maxTokens: 200000000",
		"syntax error: unexpected token: identifier",
		"the basic authentication of the keyboard",
		"git@github.com:owner/repo.git ssh://git@example.com/x",
		"password := os.Getenv(name)",
		"connect(password=password, token=token)",
		"apiKey: process.env.API_KEY",
		"export API_KEY=$OTHER_KEY PASSWORD=${PASSWORD} TOKEN=<your-token-123>",
		"the task-runner-1234567890abcdef and risk-assessment-2026-11-30",
		"sk-learn-is-not-a-secret-name",
		"commands: [{key: test-unit-2026}]",
		"https://example.com/a?page=2&sort=name@x",
		"--token-file /run/secrets/1234567",
		"secret = ",
	} {
		var r *text.Redactor
		if got := r.Redact(s); got != s {
			t.Errorf("Redact(%q) = %q", s, got)
		}
	}
}

func TestRedactValues(t *testing.T) {
	t.Parallel()
	r := text.NewRedactor([]string{
		"MY_API_KEY=open sesame", "SSH_KEY=line one of it\nline two of it", "SHORT_TOKEN=abc", "HOME=/home/somebody",
		"MONKEY=bananas-and-more", "DB_PASSWORD=a\"b<c&d/e", "broken",
	}, "given-by-hand", "tiny")
	tests := map[string]string{
		"say open sesame now":                      "say " + m + " now",
		"q=open+sesame":                            "q=" + m,
		"q=open%20sesame":                          "q=" + m,
		"only line two of it here":                 "only " + m + " here",
		"line one of it\nline two of it":           m,
		`"a\"b<c&d/e"`:                             `"` + m + `"`,
		`"a\"b\u003cc\u0026d/e"`:                   `"` + m + `"`,
		"given-by-hand":                            m,
		"abc tiny /home/somebody bananas-and-more": "abc tiny /home/somebody bananas-and-more",
	}
	for in, want := range tests {
		if got := r.Redact(in); got != want {
			t.Errorf("Redact(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	r := text.NewRedactor([]string{"X_TOKEN=my \"own\" value"})
	tests := map[string]struct{ in, want string }{
		"values only":   {`{ "a" : "my \"own\" value!" , "n":[1.50, true] }`, `{ "a" : "` + m + `!" , "n":[1.50, true] }`},
		"by key":        {`{"password":"hunter","key":"test","tokens":"1234567890"}`, `{"password":"` + m + `","key":"test","tokens":"1234567890"}`},
		"keys stay":     {`{"ghp_0123456789abcdefghijABCDEF":1}`, `{"ghp_0123456789abcdefghijABCDEF":1}`},
		"numbers stay":  {`{"api_key":123456789012345}`, `{"api_key":123456789012345}`},
		"escaped":       {`["\u0067hp_0123456789abcdefghijABCDEF"]`, `["` + m + `"]`},
		"key by escape": {`{"pass\u0077ord":"hunter2"}`, `{"pass\u0077ord":"` + m + `"}`},
		"inner lines":   {`{"log":"API_KEY=abcd12345\nok <b>"}`, `{"log":"API_KEY=` + m + `\nok <b>"}`},
		"key forgotten": {`{"password":["hunter2"],"x":"hunter2"}`, `{"password":["hunter2"],"x":"hunter2"}`},
		"not JSON":      {`API_KEY=abcd12345`, `API_KEY=` + m},
		"scalar":        {`"Bearer abcd12345"`, `"Bearer ` + m + `"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := r.RedactJSON([]byte(tt.in)); string(got) != tt.want {
				t.Errorf("RedactJSON(%s)\n got %s\nwant %s", tt.in, got, tt.want)
			}
		})
	}
	clean := []byte(`{"a":[1,"plain text"]}`)
	if got := r.RedactJSON(clean); &got[0] != &clean[0] {
		t.Error("JSON without a secret was copied")
	}
}

func TestRedactConcurrently(t *testing.T) {
	t.Parallel()
	r := text.NewRedactor([]string{"X_TOKEN=abcdefgh"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := r.Redact("x abcdefgh"); got != "x "+m {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestRedactIsStable(t *testing.T) {
	t.Parallel()
	r := text.NewRedactor([]string{"X_TOKEN=abcdefgh"})
	pieces := rapid.SampledFrom([]string{
		"password", "API_KEY", "=", ": ", "\"", "'", "abcdefgh", "12345678", "Bearer ", "https://", "u:p@", "@", "?key=", "&", "\n", " ", "\\", "sk-",
		"0123456789abcdefghij", m, "{", "}", "[", "x", "--token ", "authorization",
	})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		once := r.Redact(s)
		if twice := r.Redact(once); twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", s, once, twice)
		}
		if strings.Contains(once, "abcdefgh") && !strings.Contains(once, "abcdefghij") {
			t.Fatalf("%q kept the known value: %q", s, once)
		}
		raw, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		if hidden := r.RedactJSON(raw); !json.Valid(hidden) {
			t.Fatalf("RedactJSON(%s) is not JSON: %s", raw, hidden)
		}
	})
}

func FuzzRedactJSON(f *testing.F) {
	for _, seed := range []string{`{"password":"hunter2","a":["Bearer abcd12345"]}`, `"\u0061\""`, `{`, `[1,{"k":null}]`} {
		f.Add([]byte(seed))
	}
	r := text.NewRedactor([]string{"X_TOKEN=abcdefgh"})
	f.Fuzz(func(t *testing.T, raw []byte) {
		hidden := r.RedactJSON(raw)
		if json.Valid(raw) && !json.Valid(hidden) {
			t.Fatalf("RedactJSON(%q) is not JSON: %q", raw, hidden)
		}
	})
}

func BenchmarkRedactClean(b *testing.B) {
	s := strings.Repeat("ok  example.com/project/package  0.012s coverage: 81.2% of statements\n", 1000)
	r := text.NewRedactor([]string{"X_TOKEN=abcdefgh", "Y_KEY=another value"})
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		if r.Redact(s) != s {
			b.Fatal("changed")
		}
	}
}

func BenchmarkRedactJSONClean(b *testing.B) {
	raw := []byte(`["` + strings.Repeat("nothing to see in this text. ", 2000) + `"]`)
	r := text.NewRedactor([]string{"X_TOKEN=abcdefgh"})
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if !bytes.Equal(r.RedactJSON(raw), raw) {
			b.Fatal("changed")
		}
	}
}

func TestRedactLongLines(t *testing.T) {
	t.Parallel()
	var r text.Redactor
	filler := strings.Repeat("x=1, ", 20_000)
	secret := "API_KEY=abcd12345 "
	in := filler + secret + filler + `password: "` + strings.Repeat("long and secret ", 100) + `" ` + filler + secret
	got := r.Redact(in)
	want := filler + "API_KEY=" + m + " " + filler + `password: "` + m + `" ` + filler + "API_KEY=" + m + " "
	if got != want {
		t.Errorf("%d bytes instead of %d", len(got), len(want))
	}
}

// TestRedactDense: every place of the line asks for a search, which happens once.
func TestRedactDense(t *testing.T) {
	t.Parallel()
	var r text.Redactor
	for _, s := range []string{strings.Repeat("token", 20_000), strings.Repeat("key \"", 20_000)} {
		if got := r.Redact(s); got != s {
			t.Errorf("%.20q… was changed", s)
		}
	}
}
