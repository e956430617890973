package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	start := []string{
		"count: settled enough",
		"judge: critic-1 answered",
		"judge: settled next",
		"publish: waits for an answer",
	}
	tests := map[string][]string{
		"yes": {
			"? The critic says: Plain and short. Publish tenon.txt? -> yes",
			"publish: answered by ada",
			"publish: settled next",
			"decide: settled true",
			"done: settled",
			"succeeded after 5 visits, 10 tokens",
			"tenon.txt has 13 words",
		},
		"no": {
			"? The critic says: Plain and short. Publish tenon.txt? -> no",
			"publish: answered by ada",
			"publish: settled next",
			"decide: settled false",
			"kept: settled",
			"failed after 5 visits, 10 tokens",
			"because the reader said no",
			"tenon.txt has 13 words",
		},
	}
	for answer, rest := range tests {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := run(t.Context(), &out, answer); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.TrimSpace(line))
			}
			want := append(append([]string(nil), start...), rest...)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	t.Run("perhaps", func(t *testing.T) {
		t.Parallel()
		err := run(t.Context(), new(strings.Builder), "perhaps")
		if err == nil || !strings.Contains(err.Error(), "yes") {
			t.Errorf("an answer that is no option gave %v", err)
		}
	})
}
