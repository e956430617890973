package routing_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/routing"
	"github.com/tenonrun/tenon/workflow"
)

var providers = []routing.Provider{
	{Name: "anthropic", Model: "house-model"}, {Name: "local"}, {Name: "scripted", Model: "scripted", BuiltIn: true},
}

func load(t testing.TB, name string) *routing.Matrix {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := routing.Load(name, data, providers)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parse(t testing.TB, text string) *routing.Matrix {
	t.Helper()
	m, err := routing.Load("models.yaml", []byte(text), providers)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func codeOf(err error) workflow.Code {
	var known *workflow.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func TestMonthEnd(t *testing.T) {
	t.Parallel()
	m := load(t, "month-end.yaml")
	auditor := routing.Context{Agent: "ledger-auditor", Group: "month-close"}
	for name, c := range map[string]struct {
		r          routing.Request
		kind, want string
		rule       string
		dims       []string
		overridden bool
	}{
		"nothing matches": {routing.Request{Context: routing.Context{Agent: "translator"}}, routing.Strategy, "utility", "", nil, false},
		"agent":           {routing.Request{Context: routing.Context{Agent: "ledger-auditor"}}, routing.Concrete, "m-a", "r-audit-agent", []string{"agent"}, false},
		"group":           {routing.Request{Context: routing.Context{Agent: "translator", Group: "month-close"}}, routing.Concrete, "m-b", "r-close-group", []string{"group"}, false},
		"more dimensions beat priority": {
			routing.Request{Context: auditor}, routing.Concrete, "m-c", "r-audit-in-close", []string{"agent", "group"}, false,
		},
		"the smaller id": {
			routing.Request{Context: routing.Context{Agent: "translator", Group: "month-close", Extra: map[string]string{"customerTier": "gold"}}},
			routing.Concrete, "m-b", "r-close-group", []string{"group"}, false,
		},
		"extra":    {routing.Request{Context: routing.Context{Extra: map[string]string{"customerTier": "gold"}}}, routing.Concrete, "m-g", "r-tier-gold", []string{"extra.customerTier"}, false},
		"override": {routing.Request{Context: auditor, Session: "m-x"}, routing.Concrete, "m-x", "", nil, true},
		"purpose":  {routing.Request{Context: routing.Context{Purpose: "memory.embedding"}}, routing.Concrete, "m-e", "r-embed", []string{"purpose"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := m.Decide(c.r)
			if err != nil {
				t.Fatal(err)
			}
			rule := ""
			if d.MatchedRuleID != nil {
				rule = *d.MatchedRuleID
			}
			if d.Kind != c.kind || d.Name != c.want || rule != c.rule || !slices.Equal(d.MatchedDimensions, c.dims) || d.Overridden != c.overridden {
				t.Errorf("decided %+v", d)
			}
			if d.Reason == "" || d.MatchedDimensions == nil {
				t.Errorf("%+v lacks a reason or a list", d)
			}
		})
	}
}

const tiers = `
models:
  big: {provider: anthropic, model: large-1, price: {in: 3, out: 15, cacheRead: 0.3, cacheWrite: 3.75, asOf: 2026-11-01}, context: 200000, maxOutput: 32000}
  mid: {provider: local, model: medium-1}
  small: {provider: anthropic, model: small-1, price: {in: 1, out: 5, asOf: "2026-11-01"}}
classes:
  large: [big, small]
  review: [mid, big]
rules:
  - {id: reviewers, selector: {agent: reviewer}, target: {modelClass: review}}
  - {id: default, selector: {}, target: {modelClass: large}}
`

func TestPrecedence(t *testing.T) {
	t.Parallel()
	parent := routing.Choice{Kind: routing.Concrete, Name: "mid", Models: []routing.Model{{Provider: "local", Model: "medium-1"}}}
	full := routing.Request{
		Context: routing.Context{Agent: "reviewer"}, Session: "anthropic/s", Step: "anthropic/t", Composition: "anthropic/c", Agent: "anthropic/a", Parent: &parent,
	}
	strip := func(n int, context string) routing.Request {
		r := full
		for i, field := range []*string{&r.Session, &r.Step, &r.Composition, &r.Agent} {
			if i < n {
				*field = ""
			}
		}
		r.Context.Agent = context
		return r
	}
	plain := parse(t, tiers)
	inherits := parse(t, tiers+"inherit: true\n")
	run, err := plain.Rebind([]string{"small"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m            *routing.Matrix
		r            routing.Request
		source, want string
	}{
		"session":        {run, full, routing.FromSession, "anthropic/s"},
		"run":            {run, strip(1, "reviewer"), routing.FromRun, "anthropic/small-1"},
		"step":           {plain, strip(1, "reviewer"), routing.FromStep, "anthropic/t"},
		"composition":    {plain, strip(2, "reviewer"), routing.FromComposition, "anthropic/c"},
		"agent":          {plain, strip(3, "reviewer"), routing.FromAgent, "anthropic/a"},
		"rule":           {inherits, strip(4, "reviewer"), routing.FromRule, "local/medium-1"},
		"parent":         {inherits, strip(4, "other"), routing.FromParent, "local/medium-1"},
		"default":        {plain, strip(4, "other"), routing.FromDefault, "anthropic/large-1"},
		"provider":       {parse(t, ""), routing.Request{Provider: "anthropic"}, routing.FromProvider, "anthropic/house-model"},
		"all by the run": {run, routing.Request{Context: routing.Context{Purpose: "compaction"}, Provider: "local"}, routing.FromRun, "anthropic/small-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := c.m.Decide(c.r)
			if err != nil {
				t.Fatal(err)
			}
			if d.Source != c.source || d.Models[0].String() != c.want {
				t.Errorf("decided %s from %s", d, d.Source)
			}
		})
	}
}

// A node that names a provider is not moved to another one by the matrix.
func TestProviderOfNode(t *testing.T) {
	t.Parallel()
	m := parse(t, tiers)
	reviewer := routing.Context{Agent: "reviewer"}
	for name, c := range map[string]struct {
		r            routing.Request
		source, want string
		code         workflow.Code
	}{
		"class is narrowed":      {routing.Request{Context: reviewer, Provider: "anthropic"}, routing.FromRule, "anthropic/large-1", ""},
		"rule and default skip":  {routing.Request{Provider: "scripted"}, routing.FromProvider, "scripted/scripted", ""},
		"name of another one":    {routing.Request{Provider: "local", Step: "big"}, "", "", workflow.CodeModelUnknown},
		"bare name":              {routing.Request{Provider: "local", Step: "anything"}, routing.FromStep, "local/anything", ""},
		"provider without model": {routing.Request{Context: routing.Context{}, Provider: "local"}, "", "", workflow.CodeModelMissing},
		"unknown provider":       {routing.Request{Provider: "antropic"}, "", "", workflow.CodeProviderNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := m.Decide(c.r)
			if codeOf(err) != c.code {
				t.Fatalf("error %v, want %q", err, c.code)
			}
			if err == nil && (d.Source != c.source || d.Models[0].String() != c.want) {
				t.Errorf("decided %s from %s", d, d.Source)
			}
		})
	}
}

func TestFallbacks(t *testing.T) {
	t.Parallel()
	m := parse(t, tiers)
	d, err := m.Decide(routing.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Models) != 2 || d.Models[0].Key != "big" || d.Models[1].Key != "small" {
		t.Errorf("chain %v", d.Models)
	}
	one, err := m.Decide(routing.Request{Step: "big"})
	if err != nil {
		t.Fatal(err)
	}
	if len(one.Models) != 1 {
		t.Errorf("a concrete model has fallbacks: %v", one.Models)
	}
	if got, want := d.String(), "anthropic/large-1 <- large: the default rule"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
}

func TestRebind(t *testing.T) {
	t.Parallel()
	m := parse(t, tiers)
	run, err := m.Rebind([]string{"large=mid", "review=large"})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := run.Decide(routing.Request{})
	if len(d.Models) != 1 || d.Models[0].Key != "mid" || !strings.Contains(d.Reason, "--model large=mid") {
		t.Errorf("default decides %s", d)
	}
	byName, _ := run.Decide(routing.Request{Step: "large"})
	if byName.Models[0].Key != "mid" {
		t.Errorf("the name of the class gives %s", byName)
	}
	review, _ := run.Decide(routing.Request{Context: routing.Context{Agent: "reviewer"}})
	if review.Models[0].Key != "big" {
		t.Errorf("a class in place of a class is what the file says of it, got %s", review)
	}
	if before, _ := m.Decide(routing.Request{}); before.Models[0].Key != "big" {
		t.Errorf("the matrix of the file has changed: %s", before)
	}
	for flags, want := range map[string]string{
		"larg=mid":            `did you mean --model large=`,
		"large=mdi":           `did you mean "mid"`,
		"mid big":             "contradict",
		"large=mid large=big": "contradict",
		"":                    "empty name",
	} {
		list := strings.Fields(flags)
		if flags == "" {
			list = []string{""}
		}
		if _, err := m.Rebind(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--model %s: %v, want %q", flags, err, want)
		}
	}
	if _, err := parse(t, "").Rebind([]string{"large=local/x"}); codeOf(err) != workflow.CodeModelUnknown {
		t.Errorf("a class that nobody defined: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	two := parse(t, tiers)
	one, err := routing.Load("models.yaml", []byte("models: {big: {provider: only, model: large-1, context: 9}}"), []routing.Provider{{Name: "only"}, {Name: "scripted", BuiltIn: true}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m            *routing.Matrix
		name         string
		want, errHas string
	}{
		"key":                      {two, "small", "anthropic/small-1", ""},
		"class":                    {two, "review", "local/medium-1", ""},
		"provider and model":       {two, "local/any/thing", "local/any/thing", ""},
		"nobody's":                 {two, "zzz", "", `no model or class is named "zzz"`},
		"near":                     {two, "bigg", "", `did you mean "big"?`},
		"near provider":            {two, "antropic/x", "", `did you mean "anthropic/x"?`},
		"only provider":            {one, "whatever-2", "only/whatever-2", ""},
		"only provider, near":      {one, "bgi", "", `written PROVIDER/bgi`},
		"id with a slash":          {one, "meta/llama", "only/meta/llama", ""},
		"built-in is not the only": {one, "scripted/x", "scripted/x", ""},
		"empty model":              {two, "local/", "", "no model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.m.Resolve(c.name, "")
			switch {
			case c.errHas != "":
				if codeOf(err) != workflow.CodeModelUnknown || !strings.Contains(err.Error(), c.errHas) {
					t.Errorf("error %v, want %q", err, c.errHas)
				}
			case err != nil || got.Models[0].String() != c.want:
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	if m := one.At("only", "large-1"); m.Key != "big" || m.Context != 9 {
		t.Errorf("a model found by its id lacks its entry: %+v", m)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/wrong.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = routing.Load("models.yaml", data, providers)
	var found source.Errors
	if !errors.As(err, &found) || codeOf(err) != workflow.CodeInvalidArguments {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, e := range found {
		got = append(got, e.Error())
	}
	want, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, "\n") + "\n"; text != string(want) {
		t.Errorf("found:\n%s\nwant:\n%s", text, want)
	}
}

func TestNothingWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing yet\n", "models:\n  # none\nrules:\n"} {
		d, err := parse(t, text).Decide(routing.Request{Provider: "anthropic"})
		if err != nil || d.Source != routing.FromProvider {
			t.Errorf("%q decides %s, %v", text, d, err)
		}
	}
}

func TestNeverWins(t *testing.T) {
	t.Parallel()
	m := parse(t, "rules: [{id: a, selector: {agent: x}, target: local/m}, {id: b, selector: {agent: x}, target: local/n, priority: 1}]")
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].Error(), `models.yaml:1:27: rule "a" never wins`) {
		t.Errorf("warnings %v", m.Warnings)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	m := load(t, "month-end.yaml")
	e := m.Explain(routing.Request{Context: routing.Context{Agent: "ledger-auditor", Group: "month-clsoe", Extra: map[string]string{"customerTier": "gold"}}})
	if e.Decision == nil || *e.Decision.MatchedRuleID != "r-audit-agent" {
		t.Fatalf("decision %+v, %s", e.Decision, e.Problem)
	}
	if len(e.Matches) != 2 || e.Matches[0].RuleID != "r-audit-agent" || e.Matches[1].RuleID != "r-tier-gold" || e.Matches[1].Lost != "priority" {
		t.Errorf("matches %+v", e.Matches)
	}
	first := e.NearMisses[0]
	if first.RuleID != "r-audit-in-close" || first.Dimension != "group" || first.Want != "month-close" || first.Have != "month-clsoe" || !first.Alike {
		t.Errorf("near miss %+v", first)
	}
	none := parse(t, "").Explain(routing.Request{Step: "nobody"})
	if none.Decision != nil || !strings.Contains(none.Problem, `"nobody"`) {
		t.Errorf("unresolved: %+v", none)
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	m := parse(t, tiers)
	n := func(v int64) *int64 { return &v }
	big, small := m.At("anthropic", "large-1"), m.At("anthropic", "small-1")
	told := 0.5
	for name, c := range map[string]struct {
		model routing.Model
		usage workflow.Usage
		want  float64 // below 0 is unknown
	}{
		"all parts":          {big, workflow.Usage{Input: n(1_000_000), Cached: n(500_000), CacheWrite: n(100_000), Output: n(100_000), Reasoning: n(50_000)}, 0.4*3 + 0.5*0.3 + 0.1*3.75 + 0.1*15},
		"no cache price":     {small, workflow.Usage{Input: n(1_000_000), Cached: n(400_000), Output: n(0)}, 1},
		"provider's word":    {big, workflow.Usage{Input: n(1), Output: n(1), CostUSD: &told}, 0.5},
		"unknown output":     {big, workflow.Usage{Input: n(1)}, -1},
		"no price":           {m.At("local", "medium-1"), workflow.Usage{Input: n(1), Output: n(1)}, -1},
		"parts over all":     {big, workflow.Usage{Input: n(0), Cached: n(1_000_000), Output: n(0)}, 0.3},
		"nothing costs 0":    {big, workflow.Usage{Input: n(0), Output: n(0)}, 0},
		"negative is no sum": {big, workflow.Usage{Input: n(-5), Output: n(-5)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.model.Cost(c.usage)
			if c.want < 0 {
				if got != nil {
					t.Errorf("cost %v, want unknown", *got)
				}
				return
			}
			if got == nil || *got < c.want-1e-9 || *got > c.want+1e-9 {
				t.Errorf("cost %v, want %v", got, c.want)
			}
		})
	}
	if b := big.Bound(1_000_000, 1_000_000); b == nil || *b != 3.75+15 {
		t.Errorf("bound %v", b)
	}
	large, _ := m.Resolve("large", "")
	if b := large.Bound(1_000_000, 0); b == nil || *b != 3.75 {
		t.Errorf("bound of a class %v", b)
	}
	review, _ := m.Resolve("review", "")
	if b := review.Bound(1, 1); b != nil {
		t.Errorf("a class with an unpriced model has the bound %v", *b)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(tiers)
	f.Add("rules: [{id: a, selector: {}, target: x}]")
	f.Add("models:\n  - x\nclasses: {a: [b]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := routing.Load("models.yaml", []byte(text), providers)
		if err != nil {
			if codeOf(err) == "" {
				t.Errorf("an error without a code: %v", err)
			}
			return
		}
		d, err := m.Decide(routing.Request{Context: routing.Context{Agent: "reviewer"}})
		if err == nil && len(d.Models) == 0 {
			t.Errorf("a decision without a model: %+v", d)
		}
	})
}
