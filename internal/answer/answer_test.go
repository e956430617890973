package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/answer"
)

func TestValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{`{"a":1}`, `{"a":1}`},
		{" \n[1, 2]\n", `[1, 2]`},
		{`"yes"`, `"yes"`},
		{"\ufefftrue", `true`},
		{"Here:\n```json\n{\"a\": \"}\"}\n```\nDone.", `{"a": "}"}|{"a": "}"}`},
		{"```\nnot json\n```\n~~~json\n[1]\n~~~", `[1]`},
		{"```json\n{\"a\":1}", `{"a":1}|{"a":1}`},
		{"````\n```\n{\"a\":1}\n````", `{"a":1}`},
		{`I think {this} is it: {"a":{"b":"\"}"}} and {"c":2}.`, `{"a":{"b":"\"}"}}|{"c":2}`},
		{`See [1] and [2, 3].`, `[1]|[2, 3]`},
		{`The list [{"a":1}] it is`, `{"a":1}|[{"a":1}]`},
		{`{"a":1`, ``},
		{`nothing`, ``},
		{``, ``},
	} {
		var got []string
		for _, v := range answer.Values(tc.text) {
			got = append(got, string(v))
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestManyBraces(t *testing.T) {
	t.Parallel()
	if got := answer.Values(strings.Repeat("{", 200_000)); got != nil {
		t.Errorf("found %d values", len(got))
	}
}

func FuzzValues(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, "```json\n[1]\n```", `x {"a":[{}]} y`, "~~~\n{", "``` ```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range answer.Values(text) {
			if !json.Valid(v) {
				t.Errorf("not JSON: %q", v)
			}
			if !strings.Contains(text, string(v)) {
				t.Errorf("not in the text: %q", v)
			}
		}
	})
}
