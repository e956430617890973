package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/view"
	"github.com/tenonrun/tenon/cli"
)

// samples are artifacts of every kind: their types, contents, and what of them a
// terminal shows.
var samples = map[artifact.Kind]struct{ mime, content, shown string }{
	artifact.Text:     {"text/plain", "plain text", "plain text"},
	artifact.Markdown: {"text/markdown", "**bold** text", "bold text"},
	artifact.Code:     {"application/json", `{"a": 1}`, `{"a": 1}`},
	artifact.Image:    {"image/png", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "a terminal cannot show it"},
	artifact.Vector:   {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "a terminal cannot show it"},
	artifact.Page:     {"text/html", "<h1>Hi</h1>", "a terminal cannot show it"},
}

// Every front end has an answer for every kind of artifact: text, JSON, and the
// viewer.
func TestEveryKindIsShown(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	run := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), append([]string{"-C", dir, "--state", state}, args...),
			cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.String(), code
	}
	for _, kind := range artifact.Kinds() {
		s, ok := samples[kind]
		if !ok {
			t.Errorf("there is no sample of the kind %s: say how each front end shows it", kind)
			continue
		}
		file := filepath.Join(dir, "content")
		if err := os.WriteFile(file, []byte(s.content), 0o600); err != nil {
			t.Fatal(err)
		}
		run("artifact", "import", file, "--collection", "c", "--id", string(kind), "--mime", s.mime)
		if out, _ := run("artifact", "show", "c/"+string(kind)); !strings.Contains(out, s.shown) {
			t.Errorf("%s as text: %q, want %q", kind, out, s.shown)
		}
		var doc struct{ Kind, Content string }
		out, _ := run("artifact", "show", "c/"+string(kind), "--json")
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Kind != string(kind) || doc.Content != s.content {
			t.Errorf("%s as JSON: %s, %v", kind, out, err)
		}
		viewed(t, kind, s.mime, s.content)
	}
}

// viewed opens an artifact in the viewer as a browser would.
func viewed(t *testing.T, kind artifact.Kind, mime, content string) {
	t.Helper()
	c, err := artifact.NewMemory(artifact.MemoryConfig{}).Open(t.Context(), "c")
	if err == nil {
		_, err = c.Put(t.Context(), artifact.Draft{ID: "a", Title: "The title", Mime: mime, Content: content})
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := view.Open(t.Context(), view.Config{Store: c, ID: "a"})
	if err != nil {
		t.Errorf("%s in the viewer: %v", kind, err)
		return
	}
	defer func() { _ = v.Close() }()
	res, err := http.Get(v.URL())
	if err != nil {
		t.Errorf("%s in the viewer: %v", kind, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("The title")) {
		t.Errorf("%s in the viewer: %s, %v: %.200s", kind, res.Status, err, body)
	}
}
