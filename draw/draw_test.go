package draw_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/draw"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/implementation"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/piece/verify"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

var update = flag.Bool("update", false, "write the pictures in testdata")

// graph loads a definition and makes a graph of it.
func graph(t testing.TB, file string) *draw.Graph {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := piece.NewRegistry(slices.Concat(control.Pieces(), shell.Pieces(shell.Config{}), model.Pieces(model.Config{}),
		verify.Pieces(verify.Config{}), openspec.Pieces(openspec.Config{}), implementation.Pieces(implementation.Config{}), artifact.Pieces(artifact.Config{}))...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := load.Load(file, data, load.Config{Pieces: registry, Draft: true, Env: piece.Env{Structural: true}})
	if err != nil {
		t.Fatal(err)
	}
	return convert(doc)
}

func convert(w *load.Workflow) *draw.Graph {
	g := &draw.Graph{Title: w.Definition.Title, Subtitle: w.Definition.ID + " · " + string(w.Digest[:12])}
	at := map[string]int{}
	for _, n := range w.Nodes {
		i, ok := at[n.Body]
		if !ok {
			i = len(g.Bodies)
			at[n.Body] = i
			g.Bodies = append(g.Bodies, draw.Body{Name: n.Body})
		}
		b := &g.Bodies[i]
		node := draw.Node{Name: n.Node, Kind: n.Kind, Label: n.Label, Detail: n.Summary, Write: n.Traits.Effect == workflow.EffectWrite, AI: n.Traits.AI}
		for _, outcome := range n.Traits.Outcomes {
			e := draw.Edge{Outcome: outcome}
			if to := n.Ends[outcome]; to != nil {
				e.To = *to
			}
			node.Edges = append(node.Edges, e)
		}
		for _, u := range n.Bodies {
			node.Uses = append(node.Uses, draw.Use{Body: u.Body, Branch: u.Branch})
		}
		if n.Entry {
			b.Entry = n.Node
		}
		if n.Last {
			b.Last = n.Node
		}
		b.Nodes = append(b.Nodes, node)
	}
	return g
}

func TestPictures(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../workflow/load/testdata/definitions/*.json")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), ".draft")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := graph(t, file)
			golden(t, name+".svg", draw.SVG(g, nil))
			golden(t, name+".txt", draw.Text(g, nil))
			golden(t, name+".mmd", draw.Mermaid(g, nil))
			golden(t, name+".dot", draw.DOT(g, nil))
		})
	}
}

// TestOverlay lays a run over a graph.
func TestOverlay(t *testing.T) {
	t.Parallel()
	g := graph(t, "testdata/everything.yaml")
	run := draw.Overlay{
		"plan": {Status: "succeeded", Visits: 2, Note: "1,204 tokens"}, "sure": {Status: "succeeded", Visits: 2},
		"each": {Status: "succeeded", Visits: 1}, "each/work": {Status: "succeeded", Visits: 3, Note: "9,120 tokens, $0.04"},
		"each/check": {Status: "succeeded", Visits: 3}, "each/fine": {Status: "succeeded", Visits: 3},
		"gather": {Status: "succeeded", Visits: 1}, "both": {Status: "running", Visits: 1},
		"both/docs/write": {Status: "running", Visits: 1}, "both/docs/write/once": {Status: "failed", Visits: 1, Note: "rate_limited"},
		"both/code/write/once": {Status: "running", Visits: 1}, "both/wait/sleep": {Status: "waiting", Visits: 1, Note: "until 14:05"},
	}
	golden(t, "run.svg", draw.SVG(g, run))
	golden(t, "run.txt", draw.Text(g, run))
	golden(t, "run.mmd", draw.Mermaid(g, run))
	golden(t, "run.dot", draw.DOT(g, run))
}

// hostile is a graph whose texts try to leave their places.
func hostile() *draw.Graph {
	evil := "</text><script>alert(1)</script>\"]]>'&\n\x00\u202e\u0085 `{}`"
	return &draw.Graph{Title: evil, Subtitle: evil, Bodies: []draw.Body{
		{Entry: evil, Last: "missing", Nodes: []draw.Node{
			{Name: evil, Kind: evil, Label: evil, Detail: evil, Edges: []draw.Edge{{evil, evil}, {"next", "nowhere"}, {"failed", ""}}, Uses: []draw.Use{{"in" + evil, evil}, {"gone", ""}}},
		}},
		{Name: "in" + evil, Entry: "a", Nodes: []draw.Node{{Name: "a", Uses: []draw.Use{{"in" + evil, ""}}}}},
	}}
}

func TestHostile(t *testing.T) {
	t.Parallel()
	g := hostile()
	svg := draw.SVG(g, draw.Overlay{g.Bodies[0].Nodes[0].Name: {Status: "<b>", Note: "<i>"}})
	elements(t, svg)
	for _, out := range []string{svg, draw.Mermaid(g, nil)} {
		if strings.Contains(out, "<script") || strings.Contains(out, "\x00") || strings.Contains(out, "\u202e") {
			t.Errorf("not escaped: %q", out)
		}
	}
	if out := draw.DOT(g, nil); strings.Count(out, `"`)%2 != strings.Count(out, `\"`)%2 {
		t.Errorf("quotes are not closed:\n%s", out)
	}
	for line := range strings.Lines(draw.Text(g, nil)) {
		if strings.ContainsAny(line, "\x00\u0085\u202e") {
			t.Errorf("not plain: %q", line)
		}
	}
	for _, empty := range []*draw.Graph{{}, {Title: "x", Bodies: []draw.Body{{}}}} {
		elements(t, draw.SVG(empty, nil))
		_ = draw.Text(empty, nil) + draw.Mermaid(empty, nil) + draw.DOT(empty, nil)
	}
}

// elements reads an SVG and returns how many elements of each name it has.
func elements(t testing.TB, svg string) map[string]int {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	n := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			n[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Fatalf("an attribute that acts: %v", a)
				}
			}
			if e.Name.Local == "script" || e.Name.Local == "foreignObject" {
				t.Fatalf("an element that acts: %s", e.Name.Local)
			}
		}
	}
}

// TestAnyGraph draws graphs of any shape: each node is there once, and a second
// drawing is the same.
func TestAnyGraph(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		count := rapid.IntRange(1, 14).Draw(r, "nodes")
		b := draw.Body{Entry: "n0"}
		for i := range count {
			n := draw.Node{Name: fmt.Sprintf("n%d", i), Kind: rapid.SampledFrom([]string{"prompt", "condition", "end", "other"}).Draw(r, "kind")}
			for e := range rapid.IntRange(0, 4).Draw(r, "edges") {
				to := fmt.Sprintf("n%d", rapid.IntRange(0, count).Draw(r, "to")) // one does not exist
				if e == 3 {
					to = ""
				}
				n.Edges = append(n.Edges, draw.Edge{Outcome: rapid.SampledFrom([]string{"next", "failed", "fail", "ok"}).Draw(r, "outcome"), To: to})
			}
			b.Nodes = append(b.Nodes, n)
		}
		g := &draw.Graph{Title: "any", Bodies: []draw.Body{b}}
		svg, text := draw.SVG(g, nil), draw.Text(g, nil)
		if n := elements(t, svg); n["title"] != count {
			r.Fatalf("%d of %d nodes are drawn", n["title"], count)
		}
		if svg != draw.SVG(g, nil) || text != draw.Text(g, nil) || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			r.Fatalf("not the same twice, or not a number:\n%s", svg)
		}
		for i := range count {
			if !strings.Contains(text, fmt.Sprintf("─ n%d ", i)) && !strings.Contains(text, fmt.Sprintf("─ n%d\n", i)) {
				r.Fatalf("n%d is missing:\n%s", i, text)
			}
		}
	})
}

// TestManyNodes bounds the work on graphs nobody looks at.
func TestManyNodes(t *testing.T) {
	t.Parallel()
	b := draw.Body{Entry: "n0"}
	const count = 3000
	for i := range count {
		n := draw.Node{Name: fmt.Sprintf("n%d", i), Kind: "prompt"}
		for _, to := range []int{i + 1, i * 7 % count, i * 31 % count} {
			n.Edges = append(n.Edges, draw.Edge{Outcome: fmt.Sprintf("o%d", len(n.Edges)), To: fmt.Sprintf("n%d", to%count)})
		}
		b.Nodes = append(b.Nodes, n)
	}
	if svg := draw.SVG(&draw.Graph{Bodies: []draw.Body{b}}, nil); strings.Count(svg, "<title>") != count {
		t.Error("not all nodes are drawn")
	}
}

// golden compares a picture with the one in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not the picture in testdata; look at it and run the test with -update", name)
	}
}
