package head_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition/head"
)

// TestSplit reads heads as other programs write them: a text with a
// colon in it is a text, with a warning; what is not YAML otherwise stays so.
func TestSplit(t *testing.T) {
	t.Parallel()
	text := "---\nname: a\ndescription: Use it: <example>Context: a \"b\"\\n</example>\nmodel: big # why: so\n---\nGo.\n"
	doc, body, loose, err := head.Split("a.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Description, Model string }
	if err := doc.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if want := `Use it: <example>Context: a "b"\n</example>`; got.Description != want {
		t.Errorf("the description is %q, want %q", got.Description, want)
	}
	if got.Model != "big" || body != "Go." {
		t.Errorf("the model is %q, the body %q", got.Model, body)
	}
	if told := loose.Error(); !strings.Contains(told, "a.md:3:1: the description holds") {
		t.Errorf("warned of %q", told)
	}
	for _, text := range []string{
		"no head", "---\nname: a\n", "---\nname: [a: b\n---\n", "---\ndescription: a: b\n  c: d\n---\n", "---\nname: a\n\tdescription: b: c\n---\n",
		"---\ndescription: \"a\": b\n---\n", "---\nname: a: b\n---\n",
	} {
		if doc, _, _, err := head.Split("a.md", []byte(text)); err == nil {
			t.Errorf("%q was read as %s", text, doc.JSON())
		}
	}
}
