package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

// mapOver is a map of task w, with its join and a look at the result.
func mapOver(over, more, reduce string) string {
	return graphOf("m", node("m", "map", `{"over":`+over+`,"body":"one"`+more+`}`, "next>j"),
		node("j", "join", `{"reduce":"`+reduce+`"}`, "next>done", "fail>bad"))
}

func TestMapSources(t *testing.T) {
	t.Parallel()
	inside := components("one", body("w", task("w", "")))
	tickets := func(p *play) {
		p.start.Launch.Tickets = value([]map[string]string{{"id": "T1"}, {"id": "T2"}})
		p.start.Options.Repositories = []workflow.RepositoryInfo{{ID: "repo", Path: "."}}
		p.start.Inputs = value(map[string]any{"list": []string{"x", "y"}, "one": 1})
	}
	tests := []struct {
		name, doc string
		want      []string // items, or nil with a code
		code      string
	}{
		{"tickets", doc1(mapOver(`"tickets"`, "", "collect"), inside), []string{`{"id":"T1"}`, `{"id":"T2"}`}, ""},
		{"repositories", doc1(mapOver(`"repositories"`, "", "collect"), inside), []string{`{"id":"repo","path":"."}`}, ""},
		{"literal", doc2(mapOver(`{"items":[1,null,"a"]}`, "", "collect"), inside), []string{`1`, `null`, `"a"`}, ""},
		{"expression", doc2(mapOver(`{"expr":"$inputs.list"}`, "", "collect"), inside), []string{`"x"`, `"y"`}, ""},
		{"not a list", doc2(mapOver(`{"expr":"$inputs.one"}`, "", "collect"), inside), nil, "map_input_missing"},
		{"a list that is not there", doc2(mapOver(`{"expr":"$inputs.nope"}`, "", "collect"), inside), nil, "map_input_missing"},
		{"output that is not there", doc2(mapOver(`{"outputsOf":"nobody","path":"a.b"}`, "", "collect"), inside), nil, "map_input_missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, tt.doc, tickets)
			if tt.code != "" {
				p.wantEnd(workflow.StatusFailed, tt.code)
				return
			}
			for i, want := range tt.want {
				c := p.find("m/w")
				p.wantLookup(string(c.Visit), want, "$item", "value")
				p.wantLookup(string(c.Visit), want, "$vars", "item")
				p.wantLookup(string(c.Visit), fmt.Sprint(i), "$item", "index")
				p.wantLookup(string(c.Visit), fmt.Sprint(i), "$vars", "index")
				if c.Context.Item == nil || c.Context.Item.Index != i || c.Visit != workflow.VisitID(fmt.Sprintf("m#1[%d]/w#1", i)) {
					t.Errorf("visit %s with item %s", c.Visit, text(c.Context.Item))
				}
				p.next(string(c.Visit))
			}
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

func TestMapOverAnOutput(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("plan", task("plan", "m"), node("m", "map", `{"over":{"outputsOf":"plan","path":"found.0"},"body":"one","concurrency":9}`, "next>j"),
		node("j", "join", `{"reduce":"collect"}`, "next>done", "fail>bad")), components("one", body("w", task("w", "")))))
	raw := []byte(`{"found":[["a","b","c"]]}`)
	p.settle("plan", workflow.Settled{Outcome: "next", Output: workflow.Value{Digest: p.values.put(raw), Size: len(raw)}})
	p.wantNodes("m#1[0]/w#1", "m#1[1]/w#1", "m#1[2]/w#1")
	p.wantLookup("m#1[2]/w#1", `"c"`, "$item", "value")
	p.next("m/w", "m/w", "m/w")
	p.wantEnd(workflow.StatusSucceeded)
}

func TestMapBounds(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	inside := components("one", body("w", node("w", "end", `{"outcome":"success"}`)))
	tests := []struct {
		name  string
		level int
		n     int
		fits  bool
	}{
		{"none", 1, 0, true}, {"one", 1, 1, true}, {"too many", 1, 10_001, false},
		{"many more", 2, 10_001, true}, {"too many of them", 2, 100_001, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.level, tt.name), func(t *testing.T) {
			t.Parallel()
			p := prepare(t, doc(tt.level, mapOver(`"tickets"`, `,"concurrency":1`, "all-ok"), inside), func(p *play) { p.start.Launch.Tickets = workflow.Inline(json.RawMessage(list(tt.n))) })
			p.hold = func(c workflow.StartVisit) bool { return tt.n > 1000 && c.Node == "m/w" }
			p.open()
			switch {
			case !tt.fits:
				p.wantEnd(workflow.StatusFailed, "map_input_limit")
			case tt.n > 1000:
				p.wantNodes("m#1[0]/w#1")
			default:
				p.wantEnd(workflow.StatusSucceeded)
				if got := p.output("j"); !strings.HasPrefix(got, fmt.Sprintf(`{"failed":0,"ok":%d,`, tt.n)) {
					t.Errorf("output %s", got)
				}
			}
		})
	}
}

func TestMapConcurrency(t *testing.T) {
	t.Parallel()
	inside := components("one", body("w", task("w", "v"), task("v", "")))
	tests := []struct {
		level int
		more  string
		want  int
	}{{1, "", 1}, {2, "", 4}, {1, `,"concurrency":3`, 3}, {2, `,"concurrency":2`, 2}, {2, `,"concurrency":50`, 6}}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.level, tt.more), func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc(tt.level, mapOver(`"tickets"`, tt.more, "collect"), inside), func(p *play) { p.start.Launch.Tickets = value([]int{0, 1, 2, 3, 4, 5}) })
			if got := len(p.wanted); got != tt.want {
				t.Fatalf("%d branches are open, want %d", got, tt.want)
			}
			limit := p.find("m#1[0]/w#1").Limits
			if len(limit) != 1 || limit[0].ID != "m#1" || limit[0].Max < tt.want {
				t.Errorf("limits %s", text(limit))
			}
			for p.ended == nil {
				if len(p.wanted) > tt.want {
					t.Fatalf("%d branches are open", len(p.wanted))
				}
				p.next(p.nodes()[len(p.wanted)-1])
			}
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

// A branch that waits for a person lets the next one begin.
func TestMapSlotOfAQuestion(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(mapOver(`{"items":[0,1,2]}`, `,"concurrency":1`, "all-ok"), components("one", body("w", task("w", "v"), task("v", "")))))
	p.wantNodes("m#1[0]/w#1")
	p.say("m#1[0]/w#1", &workflow.QuestionOpened{Question: workflow.Question{ID: "q1"}})
	p.wantNodes("m#1[1]/w#1")
	p.record(about("m#1[0]/w#1", "m/w", 1, 1), &workflow.QuestionAnswered{Question: "q1"})
	p.wantNodes("m#1[1]/w#1", "m#1[0]/w#1")
	p.next("m#1[0]/w#1", "m#1[0]/v#1")
	p.wantNodes("m#1[1]/w#1")
	p.next("m#1[1]/w#1", "m#1[1]/v#1", "m#1[2]/w#1", "m#1[2]/v#1")
	p.wantEnd(workflow.StatusSucceeded)
}

// A branch that fails stops no other, and results come in the order of items.
func TestMapBranchesFail(t *testing.T) {
	t.Parallel()
	for reduce, want := range map[string]workflow.Status{"collect": workflow.StatusSucceeded, "any-ok": workflow.StatusSucceeded, "all-ok": workflow.StatusFailed} {
		t.Run(reduce, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(mapOver(`{"items":[0,1,2,3]}`, "", reduce), components("one", body("w", node("w", "work", "", "next>e", "failed>"), node("e", "end", `{"outcome":"success"}`)))))
			p.settle("m#1[3]/w#1", workflow.Settled{Outcome: "next", Output: value("three")})
			p.settle("m#1[1]/w#1", workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Output: value("one"), Error: &workflow.Failure{Code: "timeout"}})
			p.settle("m#1[0]/w#1", workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: "timeout"}})
			p.settle("m#1[2]/w#1", workflow.Settled{Outcome: "next", Output: value(nil)})
			want2 := `{"failed":2,"ok":2,"results":[{"index":0,"outcome":"failed"},{"index":1,"outcome":"failed","output":"one"},` +
				`{"index":2,"outcome":"next","output":null},{"index":3,"outcome":"next","output":"three"}],"total":4}`
			if got := p.output("m"); got != want2 {
				t.Errorf("output of the map %s, want %s", got, want2)
			}
			if got := p.output("j"); got != want2 {
				t.Errorf("output of the join %s", got)
			}
			if w := p.results["j"].Warnings; len(w) != 1 || w[0] != "j: 2 of 4 items succeeded" {
				t.Errorf("warnings %q", w)
			}
			if p.ended.Status != want {
				t.Errorf("the run ended %s, want %s", p.ended.Status, want)
			}
		})
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reduce, kinds string // one letter for each branch: n(ext) or f(ailed)
		want          string
	}{
		{"collect", "ff", "next"}, {"collect", "", "next"},
		{"all-ok", "nn", "next"}, {"all-ok", "nf", "fail"}, {"all-ok", "", "next"},
		{"any-ok", "fn", "next"}, {"any-ok", "ff", "fail"}, {"any-ok", "", "fail"},
	}
	for _, tt := range tests {
		t.Run(tt.reduce+tt.kinds, func(t *testing.T) {
			t.Parallel()
			items := make([]string, len(tt.kinds))
			for i, k := range tt.kinds {
				items[i] = string(k)
			}
			inside := body("c", node("c", "condition", `{"expr":"$item.value == \"n\""}`, "true>y", "false>n"), node("y", "end", `{"outcome":"success"}`), node("n", "end", `{"outcome":"failure"}`))
			p := begin(t, doc2(mapOver(`{"items":`+text(items)+`}`, "", tt.reduce), components("one", inside)))
			if got := p.results["j"].Outcome; got != tt.want {
				t.Errorf("outcome %q, want %q", got, tt.want)
			}
		})
	}
}

// A join belongs to its map, also when there are several in one body, and twice
// in a loop.
func TestTwoMaps(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("a", node("a", "map", `{"over":{"items":[1]},"body":"one"}`, "next>ja"), node("ja", "join", `{"reduce":"collect"}`, "next>b", "fail>bad"),
		node("b", "map", `{"over":{"items":[1,2]},"body":"one"}`, "next>jb"), node("jb", "join", `{"reduce":"collect"}`, "next>c", "fail>bad"),
		node("c", "condition", `{"expr":"$vars.again == true"}`, "true>done", "false>s"), node("s", "assign", `{"set":{"again":true}}`, "next>a", "failed>bad")),
		components("one", body("w", node("w", "end", `{"outcome":"success"}`)))))
	p.wantEnd(workflow.StatusSucceeded)
	if !strings.Contains(p.output("ja"), `"total":1`) || !strings.Contains(p.output("jb"), `"total":2`) {
		t.Errorf("outputs %s %s", p.output("ja"), p.output("jb"))
	}
}

// Maps nest: a branch counts against both limits.
func TestMapInAMap(t *testing.T) {
	t.Parallel()
	outer := body("n", node("n", "map", `{"over":{"expr":"$item.value"},"body":"one","concurrency":2}`, "next>j"), node("j", "join", `{"reduce":"all-ok"}`, "next>", "fail>"))
	p := begin(t, doc2(graphOf("m", node("m", "map", `{"over":{"items":[["a","b","c"],["d"],[]]},"body":"outer","concurrency":2}`, "next>j"),
		node("j", "join", `{"reduce":"all-ok"}`, "next>done", "fail>bad")), components("outer", outer, "one", body("w", task("w", "")))))
	p.wantNodes("m#1[0]/n#1[0]/w#1", "m#1[0]/n#1[1]/w#1", "m#1[1]/n#1[0]/w#1")
	if got := text(p.find("m#1[1]/n#1[0]/w#1").Limits); got != `[{"id":"m#1","max":2},{"id":"m#1[1]/n#1","max":2}]` {
		t.Errorf("limits %s", got)
	}
	p.wantLookup("m#1[1]/n#1[0]/w#1", `"d"`, "$item", "value")
	for p.ended == nil {
		p.next(p.nodes()[0])
	}
	p.wantEnd(workflow.StatusSucceeded)
}

// What the branches of a map put out is bounded; what does not fit is marked.
func TestMapOutputIsBounded(t *testing.T) {
	t.Parallel()
	p := prepare(t, doc2(mapOver(`{"items":[0,1,2]}`, "", "collect"), components("one", body("w", task("w", "")))))
	p.open()
	big, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	stored := workflow.Value{Digest: p.values.put(big), Size: len(big)}
	for range 3 {
		p.settle("m/w", workflow.Settled{Outcome: "next", Output: stored})
	}
	var out struct {
		OK      int
		Results []struct {
			Output    string
			Truncated bool
		}
	}
	if err := json.Unmarshal([]byte(p.output("m")), &out); err != nil {
		t.Fatal(err)
	}
	if len(p.output("m")) > 2<<20+1000 || out.OK != 3 || len(out.Results[0].Output) != 1<<20 || !out.Results[2].Truncated || out.Results[2].Output != "" {
		t.Errorf("%d bytes, %d succeeded", len(p.output("m")), out.OK)
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	branch := body("w", task("w", ""))
	tests := []struct {
		name, more string
		fail       []string
		want       string
	}{
		{"all succeed", "", nil, "next"},
		{"default is all-ok", "", []string{"b"}, "fail"},
		{"any-ok", `,"reduce":"any-ok"`, []string{"a", "c"}, "next"},
		{"none of any", `,"reduce":"any-ok"`, []string{"a", "b", "c"}, "fail"},
		{"collect", `,"reduce":"collect"`, []string{"a", "b", "c"}, "next"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(graphOf("s", node("s", "assign", `{"set":{"v":1}}`, "next>p", "failed>bad"),
				node("p", "parallel", `{"branches":{"c":`+branch+`,"a":`+branch+`,"b":"named"}`+tt.more+`}`, "next>after", "fail>after"), task("after", "done")), components("named", branch)))
			p.wantNodes("p#1[a]/w#1", "p#1[b]/w#1", "p#1[c]/w#1")
			for _, name := range []string{"c", "a", "b"} {
				p.wantLookup("p/"+name+"/w", `1`, "$vars", "v")
				res := workflow.Settled{Outcome: "next", Output: value(name), Vars: map[string]workflow.Value{"v": value(name)}}
				for _, f := range tt.fail {
					if f == name {
						res.Status = workflow.VisitFailed
					}
				}
				p.settle("p/"+name+"/w", res)
			}
			if got := p.results["p"].Outcome; got != tt.want {
				t.Errorf("outcome %q, want %q", got, tt.want)
			}
			var out struct {
				Total, OK, Failed int
				Branches          map[string]struct {
					Name, Outcome, Output string
					Index                 int
				}
			}
			if err := json.Unmarshal([]byte(p.output("p")), &out); err != nil {
				t.Fatal(err)
			}
			if out.Total != 3 || out.Failed != len(tt.fail) || out.Branches["b"].Output != "b" || out.Branches["c"].Index != 2 {
				t.Errorf("output %s", p.output("p"))
			}
			if len(tt.fail) > 0 != (len(p.results["p"].Warnings) == 1) {
				t.Errorf("warnings %q", p.results["p"].Warnings)
			}
			p.wantLookup("after", `1`, "$vars", "v") // a branch writes into its own scope
			p.next("after")
			p.wantEnd(workflow.StatusSucceeded)
		})
	}
}

func TestParallelConcurrency(t *testing.T) {
	t.Parallel()
	branch := body("w", task("w", ""))
	p := begin(t, doc2(graphOf("p", node("p", "parallel", `{"concurrency":1,"branches":{"x":`+branch+`,"10":`+branch+`,"y":`+branch+`}}`, "next>done", "fail>bad"))))
	p.wantNodes("p#1[10]/w#1")
	p.next("p/10/w")
	p.wantNodes("p#1[x]/w#1")
	p.next("p/x/w", "p/y/w")
	p.wantEnd(workflow.StatusSucceeded)
}

// Inside a map a parallel still sees the item.
func TestParallelSeesTheItem(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(mapOver(`{"items":["x"]}`, "", "all-ok"),
		components("one", body("p", node("p", "parallel", `{"branches":{"a":`+body("w", task("w", ""))+`}}`, "next>", "fail>")))))
	p.wantLookup("m/p/a/w", `"x"`, "$item", "value")
	p.wantLookup("m/p/a/w", `0`, "$vars", "index")
	p.next("m/p/a/w")
	p.wantEnd(workflow.StatusSucceeded)
}
