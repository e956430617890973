package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const root = "../.."

// TestDependencies keeps the page of dependencies complete.
func TestDependencies(t *testing.T) {
	t.Parallel()
	pages, err := readPages(root)
	if err != nil {
		t.Fatal(err)
	}
	var found findings
	if err := checkDependencies(t.Context(), root, pages, &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// TestMissingDependency sees a line that is gone, and one that is too many.
func TestMissingDependency(t *testing.T) {
	t.Parallel()
	text := "| module |\n| --- |\n| `example.com/unused` | why |\n"
	var found findings
	if err := checkDependencies(t.Context(), root, []page{{dependencies, text}}, &found); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(found, "\n")
	for _, want := range []string{"docs/dependencies.md:3: example.com/unused is not imported", "no line for github.com/spf13/cobra"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not found in:\n%s", want, all)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.md"), []byte("# A `code` title: two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"[x](other.md)", ""},
		{"[x](other.md#a-code-title-two)", ""},
		{"[x](other.md#nothing)", "a.md:1: link to other.md#nothing: no heading of that name"},
		{"\n[x](gone.md)", "a.md:2: link to gone.md: there is no such file"},
		{"[x](../outside.md)", "a.md:1: link to ../outside.md: there is no such file"},
		{"# Here\n[x](#here) [y](https://example.com/gone) [z](mailto:a@b)", ""},
		{"# Here\n[x](#there)", "a.md:2: link to #there: no heading of that name"},
		{"```\n[x](gone.md)\n# There\n```\n[y](#there)", "a.md:5: link to #there: no heading of that name"},
		{`<img src="gone.svg">`, "a.md:1: link to gone.svg: there is no such file"},
	} {
		var found findings
		checkLinks(dir, page{"a.md", c.text}, &found)
		if got := strings.Join(found, "\n"); got != c.want {
			t.Errorf("%q:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"nodes", "```yaml tenon node\na: {kind: shell, params: {argv: [ls]}, ends: {ok: done, fail: failed, failed: null}}\n```", ""},
		{"wrong node", "# Title\n\n```yaml tenon node\na:\n  kind: shel\n  params: {}\n  ends: {}\n```", `a.md:5: unknown_piece: there is no kind "shel"`},
		{"definition", "```yaml tenon\nschemaVersion: 2\nid: a\nentry: b\nnodes:\n  a: {kind: end, params: {outcome: success}, ends: {}}\n```", `a.md:4: node_not_found: there is no node "b"`},
		{"child", "```yaml tenon node\na: {kind: workflow, params: {name: other}, ends: {next: done, failed: null}}\n```", ""},
		{"config", "```yaml tenon config\nlimit: {}\n```", `did you mean "limits"?`},
		{"script", "```yaml tenon script\nversion: 1\nreplies: [{txt: a}]\n```", `there is no "txt" here`},
		{"agent", "```markdown tenon agent\n---\nname: a\ncolour: blue\n---\nGo.\n```", `the field "colour" is not known`},
		{"composition", "```yaml tenon composition\nslug: a\nversion: 1.0.0\nroot: b\nworkspace: {env: [{name: x, value: y}]}\n```", "UPPER_SNAKE_CASE"},
		{"manifest", "```yaml tenon manifest\napiVersion: workspace/v1\nkind: WorkspaceManifest\nmetadata: {slug: a, version: 1.0.0}\nspec: {agent: {slug: a, role: boss}}\n```", "want unit-worker"},
		{"spec", "```yaml tenon spec\nslug: a\nkind: nothing\n```", `"nothing" is not a kind`},
		{"overlay", "```yaml tenon overlay\nid: [a]\n```", "a.md:2: the overlay is not valid"},
		{"workflow", "```js tenon workflow\nexport const meta = {name: 'a'};\n```", "description is missing"},
		{"body", "```js tenon body\nconst n = await agent('a');\nreturn n: number;\n```", "example.js:2:9: TypeScript"},
		{"another word", "```yaml tenon thing\n```", `a.md:1: there is no example "thing"`},
		{"not marked", "```yaml\nnot: [checked\n```", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var found findings
			if err := checkExamples(t.Context(), []page{{"a.md", c.text}}, &found); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(found, "\n")
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSnippets(t *testing.T) {
	t.Parallel()
	text := "Text\n\n```go tenon\nfmt.Println(workflow.StatusWaiting)\nreturn ctx.Err()\n```\n\n```go tenon\nreturn nothing\n```\n"
	var found findings
	if err := checkSnippets(t.Context(), root, []page{{"a.md", text}}, &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0], "undefined: nothing") {
		t.Errorf("found %q, want only the name that is not there", found)
	}
}

func TestNamedTestsAndCodes(t *testing.T) {
	t.Parallel()
	var found findings
	pages := []page{{"a.md", "By `TestNamedTestsAndCodes`.\nBy `TestThatNobodyWrote`."}}
	if err := checkTests(root, pages, &found); err != nil {
		t.Fatal(err)
	}
	if want := "a.md:2: there is no test TestThatNobodyWrote"; len(found) != 1 || found[0] != want {
		t.Errorf("found %q, want %q", found, want)
	}
	found = nil
	if err := checkCodes(root, []page{{"docs/definitions.md", "`timeout`"}}, &found); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(found, "\n")
	if strings.Contains(all, "code timeout ") || !strings.Contains(all, "code idle_timeout is not explained") {
		t.Errorf("found:\n%s", all)
	}
}

// TestParts makes every part, and a page again without a change.
func TestParts(t *testing.T) {
	t.Parallel()
	g, err := newParts(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"commands":     "#### tenon resume",
		"rooms":        "| [`workflow`](../workflow) | the vocabulary of Tenon",
		"kinds":        "| [`parallel`](#parallel) | 2 | yes |",
		"params shell": "| `repositoryId` | **required**, string, at most 128 characters | string",
		"params join":  "| `reduce` | **required**, `collect`, `all-ok`, `any-ok` |",
	} {
		p := page{"a.md", "before\n<!-- generated: " + name + " -->\nold\n<!-- /generated -->\nafter\n"}
		text, err := g.fill(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(text, want) || strings.Contains(text, "\nold\n") || !strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "after\n") {
			t.Errorf("%s: %q is not in its place in:\n%s", name, want, text)
		}
		if again, err := g.fill(page{"a.md", text}); err != nil || again != text {
			t.Errorf("%s: it is not the same when it is made again: %v", name, err)
		}
	}
	for _, name := range []string{"nothing", "params nothing"} {
		if _, err := g.fill(page{"a.md", "<!-- generated: " + name + " -->\n<!-- /generated -->"}); err == nil {
			t.Errorf("part %q was made", name)
		}
	}
}

// TestDrawing draws any plan: well-formed, every room once, nothing outside of
// its floor and nothing over anything else.
func TestDrawing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := house{names: map[int]string{0: "cellar & <words>", 4: "what fulfils the contracts of the house"}}
		for i := range rapid.IntRange(1, 90).Draw(t, "rooms") {
			name := fmt.Sprintf("%s/r%d", rapid.StringMatching(`[a-z]{1,12}(/[a-z]{1,12})?`).Draw(t, "name"), i)
			h.rooms = append(h.rooms, room{floor: rapid.IntRange(0, 9).Draw(t, "floor"), test: rapid.Bool().Draw(t, "test"), name: name})
		}
		svg := drawHouse(h)
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		bands, high := layOut(h)
		drawn := 0
		for i, b := range bands {
			if i > 0 && b.y < bands[i-1].y+bands[i-1].h || b.y+b.h > high {
				t.Fatalf("floor %d lies over another, or outside", b.floor)
			}
			for j, x := range b.boxes {
				drawn++
				if !bytes.Contains(svg, []byte(">"+x.label()+"</text>")) {
					t.Fatalf("room %s is not drawn", x.name)
				}
				if x.x < gutter || x.x+x.w > sheet-margin || x.y < b.y || x.y+boxHigh > b.y+b.h {
					t.Fatalf("room %s is outside of its floor", x.name)
				}
				if j > 0 && x.y == b.boxes[j-1].y && x.x < b.boxes[j-1].x+b.boxes[j-1].w {
					t.Fatalf("room %s lies over %s", x.name, b.boxes[j-1].name)
				}
			}
		}
		if drawn != len(h.rooms) {
			t.Fatalf("%d of %d rooms are drawn", drawn, len(h.rooms))
		}
	})
}

func TestReadHouse(t *testing.T) {
	t.Parallel()
	h, err := readHouse(filepath.Join(root, "docs", "house.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(h.rooms, func(r room) bool { return r.name == "store/storetest" && r.test && slices.Contains(r.stairs, "store") }) {
		t.Error("the test room of stores was not read")
	}
	if h.names[0] != "cellar" || h.names[7] == "" || h.names[7] != h.names[9] {
		t.Errorf("the names of floors were not read: %v", h.names)
	}
}

// TestDrift finds a page that is not what the code says, and writes it.
func TestDrift(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "docs"), os.DirFS(filepath.Join(root, "docs"))); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "docs", "stale.md")
	if err := os.WriteFile(stale, []byte("<!-- generated: kinds -->\n<!-- /generated -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pages := []page{{"docs/stale.md", "<!-- generated: kinds -->\n<!-- /generated -->\n"}}
	made, err := generate(dir, pages)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, m := range made {
		names = append(names, m.name)
	}
	if want := []string{"docs/house.svg", "docs/stale.md"}; !slices.Equal(names, want) {
		t.Fatalf("made %q, want %q", names, want)
	}
	if err := write(dir, made, io.Discard); err != nil {
		t.Fatal(err)
	}
	pages, err = readPages(dir)
	if err != nil {
		t.Fatal(err)
	}
	made, err = generate(dir, []page{find(pages, "docs/stale.md")})
	if err != nil || len(made) != 1 {
		t.Errorf("after writing, %d files are still not as the code says: %v", len(made)-1, err)
	}
}
