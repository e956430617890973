package load_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/workflow/load"
)

// FuzzLoad looks for documents that break the loader, or that it accepts in one
// reading and not in the next.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/definitions/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	cases, err := filepath.Glob("testdata/issues/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range cases {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, docs := split(string(raw))
		for _, doc := range docs {
			f.Add([]byte(doc.text))
		}
	}
	f.Add([]byte(nested))
	cfg := config(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := load.Load("fuzz", data, cfg)
		if err != nil {
			var issues load.Issues
			if !errors.As(err, &issues) || len(issues) == 0 {
				t.Fatalf("an error without issues: %v", err)
			}
			if !slices.IsSortedFunc(issues, func(a, b load.Issue) int { return (a.Line-b.Line)*1_000_000 + a.Column - b.Column }) {
				t.Fatalf("issues out of order:\n%v", issues)
			}
			return
		}
		again, err := load.Load("again.json", w.Document, cfg)
		if err != nil || again.Digest != w.Digest {
			t.Fatalf("accepted, but not what is stored: %v", err)
		}
		if _, err := load.Describe(w.Definition, cfg.Pieces, cfg.Env); err != nil {
			t.Fatal(err)
		}
	})
}
