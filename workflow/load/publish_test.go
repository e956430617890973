package load_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow/load"
)

// TestPublish writes the version into every valid document there is, and into
// some that are written in odd ways.
func TestPublish(t *testing.T) {
	t.Parallel()
	docs := []document{
		{"nested.yaml", nested},
		{"flow.yaml", "# a comment\n{id: a, schemaVersion: 2, entry: x, nodes: {x: {kind: end, params: {outcome: success}, ends: {}}}}"},
		{"bom.yaml", "\ufeff---\nschemaVersion: 2\nid: a\nentry: x\nnodes: {x: {kind: end, params: {outcome: success}, ends: {}}}\n"},
		{"wide.json", "{\"title\": \"äöü\", \"id\": \"a\", \"schemaVersion\": 2, \"entry\": \"x\",\n\t\"nodes\": {\"x\": {\"kind\": \"end\", \"params\": {\"outcome\": \"success\"}, \"ends\": {}}}}"},
		{"wrong.yaml", "schemaVersion: 2\nid: a\nversion: " + strings.Repeat("ab", 32) + " # old\nentry: x\nnodes: {x: {kind: end, params: {outcome: success}, ends: {}}}"},
		{"wrong.json", `{"version": "` + strings.Repeat("ab", 32) + `", "schemaVersion": 2, "id": "a", "entry": "x", "nodes": {"x": {"kind": "end", "params": {"outcome": "success"}, "ends": {}}}}`},
	}
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(file) == ".json" {
			docs = append(docs, document{file, string(raw)})
			continue
		}
		_, more := split(string(raw))
		docs = append(docs, more...)
	}
	cfg, published := config(t), 0
	for _, doc := range docs {
		cfg.Draft, cfg.AnyVersion = true, true
		w, err := load.Load(doc.name, []byte(doc.text), cfg)
		if err != nil {
			continue
		}
		out, err := load.Publish(w, []byte(doc.text))
		if err != nil {
			t.Errorf("%s: %v", doc.name, err)
			continue
		}
		cfg.Draft, cfg.AnyVersion = false, false
		again, err := load.Load(doc.name, out, cfg)
		if err != nil || again.Digest != w.Digest {
			t.Errorf("%s is published as\n%s\n%v", doc.name, out, err)
		}
		if strings.Contains(doc.text, "# a comment") && !bytes.Contains(out, []byte("# a comment")) {
			t.Errorf("%s lost its comment:\n%s", doc.name, out)
		}
		published++
	}
	if published < 15 {
		t.Errorf("only %d documents are published", published)
	}
}
