package load_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow/load"
)

var update = flag.Bool("update", false, "write what is wanted in testdata/issues")

// TestIssues loads every document of testdata/issues and compares what is found
// with the file of the same name and the ending .want.
func TestIssues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/issues/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, docs := split(string(raw))
		out := comment
		for _, doc := range docs {
			if strings.HasSuffix(doc.name, ".want") {
				continue
			}
			got, want := found(t, doc.name, []byte(doc.text)), ""
			for _, w := range docs {
				if w.name == doc.name+".want" {
					want = w.text
				}
			}
			out += fmt.Sprintf("-- %s --\n%s-- %s.want --\n%s", doc.name, doc.text, doc.name, got)
			if got != want && !*update {
				t.Errorf("%s %s:\n%swant:\n%s", file, doc.name, got, want)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type document struct{ name, text string }

// split reads an archive of documents, each after a line "-- name --".
func split(raw string) (comment string, docs []document) {
	for line := range strings.Lines(raw) {
		name, marked := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		name, closed := strings.CutSuffix(name, " --")
		switch {
		case marked && closed:
			docs = append(docs, document{name: name})
		case len(docs) == 0:
			comment += line
		default:
			docs[len(docs)-1].text += line
		}
	}
	return comment, docs
}

// found writes the issues of a document, one a line.
func found(t *testing.T, name string, data []byte) string {
	t.Helper()
	w, err := load.Load(name, data, config(t))
	var b strings.Builder
	var issues load.Issues
	switch {
	case err == nil:
		for _, i := range w.Warnings {
			fmt.Fprintf(&b, "warning: %s\n", i)
		}
		b.WriteString("ok\n")
	case errors.As(err, &issues):
		for _, i := range issues {
			fmt.Fprintf(&b, "%s\n", i)
		}
	default:
		t.Fatal(err)
	}
	return b.String()
}
