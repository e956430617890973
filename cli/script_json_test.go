package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenonrun/tenon/workflow"
)

// query checks the one document on standard output, or in the file named with -f.
// Without a value the path must be there. A text is compared as it is, anything
// else as compact JSON.
func query(ts *testscript.TestScript, neg bool, args []string) {
	file, name := "stdout", ""
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-f":
			file = args[1]
		case "-set":
			name = args[1]
		}
		args = args[2:]
	}
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: json [-f FILE] [-set NAME] PATH [VALUE]")
	}
	doc, err := oneDocument(ts.ReadFile(file))
	ts.Check(err)
	got, ok := lookUp(doc, args[0])
	switch {
	case len(args) == 1 && ok == neg:
		ts.Fatalf("%s: present: %v", args[0], ok)
	case len(args) == 2 && (ok && show(got) == args[1]) == neg:
		ts.Fatalf("%s is %s", args[0], show(got))
	}
	if name != "" {
		ts.Setenv(name, show(got))
	}
}

// queryLines checks the first, last, or any document of JSON lines.
func queryLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: jsonl first|last|any PATH [VALUE]")
	}
	var docs []any
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		doc, err := oneDocument(line)
		ts.Check(err)
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		ts.Fatalf("there are no lines")
	}
	switch args[0] {
	case "first":
		docs = docs[:1]
	case "last":
		docs = docs[len(docs)-1:]
	}
	for _, doc := range docs {
		got, ok := lookUp(doc, args[1])
		if ok && (len(args) == 2 || show(got) == args[2]) {
			if neg {
				ts.Fatalf("a line has %s = %s", args[1], show(got))
			}
			return
		}
	}
	if !neg {
		ts.Fatalf("no such line")
	}
}

// asked checks which nodes of a shown run got answers from models, and in which
// order. A call that was lost with its process has no answer; it is asked again.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	var run struct {
		Visits []struct {
			Node  string
			Calls []struct{ Status string }
		} `json:"visitsInOrder"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &run))
	if neg || len(run.Visits) == 0 {
		ts.Fatalf("usage: tenon show RUN --json, then asked [NODE…]")
	}
	nodes := []string{}
	for _, v := range run.Visits {
		for _, c := range v.Calls {
			if c.Status != workflow.InvocationLost {
				nodes = append(nodes, v.Node)
			}
		}
	}
	if !slices.Equal(nodes, args) {
		ts.Fatalf("the models of %q were asked, want %q", nodes, args)
	}
}

// oneDocument reads a text that holds exactly one JSON document.
func oneDocument(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("not a JSON document: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than one JSON document")
	}
	return doc, nil
}

// lookUp follows a path such as .nodes[0].kind; .length is the length, [k=v] the
// first element whose member k is v.
func lookUp(v any, path string) (any, bool) {
	for path != "" && path != "." {
		var step string
		if path[0] == '[' {
			step, path, _ = strings.Cut(path[1:], "]")
			list, _ := v.([]any)
			var ok bool
			if v, ok = element(list, step); !ok {
				return nil, false
			}
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		step, path = path[:end], path[end:]
		if step == "" {
			continue // as in .[0]
		}
		if step == "length" {
			return length(v), true
		}
		m, _ := v.(map[string]any)
		var ok bool
		if v, ok = m[step]; !ok {
			return nil, false
		}
	}
	return v, true
}

func element(list []any, step string) (any, bool) {
	if k, want, ok := strings.Cut(step, "="); ok {
		for _, e := range list {
			if m, _ := e.(map[string]any); m != nil && show(m[k]) == want {
				return e, true
			}
		}
		return nil, false
	}
	i, err := strconv.Atoi(step)
	if err != nil || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

func length(v any) json.Number {
	n := 0
	switch v := v.(type) {
	case []any:
		n = len(v)
	case map[string]any:
		n = len(v)
	}
	return json.Number(strconv.Itoa(n))
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func TestLookUp(t *testing.T) {
	t.Parallel()
	doc, err := oneDocument(`{"a":{"b":[{"id":"x","n":1.50},{"id":"y"}]},"c":null}`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		".a.b[0].n": "1.50", ".a.b[id=y].id": "y", ".a.b.length": "2", ".c": "null", ".a.b[1]": `{"id":"y"}`,
	} {
		if got, ok := lookUp(doc, path); !ok || show(got) != want {
			t.Errorf("%s is %s, %v, want %s", path, show(got), ok, want)
		}
	}
	for _, path := range []string{".x", ".a.b[2]", ".a.b[id=z].id", ".c.d"} {
		if got, ok := lookUp(doc, path); ok {
			t.Errorf("%s is %s, want nothing", path, show(got))
		}
	}
	for _, text := range []string{"", "{} {}", "{"} {
		if _, err := oneDocument(text); err == nil {
			t.Errorf("%q is taken for one document", text)
		}
	}
}
