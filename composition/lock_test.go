package composition_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/workflow"
)

func locked(t *testing.T) *composition.Lock {
	t.Helper()
	r, err := resolve(t, closing(t, nil), erp)
	if err != nil {
		t.Fatal(err)
	}
	return r.Lock
}

func withLock(l *composition.Lock) composition.Options {
	o := erp
	o.Lock = l
	return o
}

func TestLockBytes(t *testing.T) {
	t.Parallel()
	l := locked(t)
	text := string(l.Bytes())
	var lines []string
	for _, p := range l.Pins() {
		lines = append(lines, string(p.Kind)+" "+p.Ref+" "+p.Version+" "+string(p.Tier))
	}
	want := []string{
		"agent close-lead@2.0.0 2.0.0 project", "agent ledger-auditor 2.1.0 project", "composition close-books 1.0.0 org", "skill reconcile 1.0.3 project",
	}
	if !slices.Equal(lines, want) || strings.Count(text, "\n") != 6 {
		t.Errorf("%s\nhas the pins %q, want %q", text, lines, want)
	}
	read, err := composition.ParseLock("tenon.lock", l.Bytes())
	if err != nil || string(read.Bytes()) != text {
		t.Errorf("%v, %v", read, err)
	}
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var again composition.Lock
	if err := json.Unmarshal(raw, &again); err != nil || string(again.Bytes()) != text {
		t.Errorf("%s, %v", raw, err)
	}
}

// What is published later does not change what the lock says, nor does archiving.
func TestLockHolds(t *testing.T) {
	t.Parallel()
	l := locked(t)
	items := append(closing(t, nil), stored(agent("ledger-auditor", "2.1.9")))
	for i := range items {
		if items[i].Version == "2.1.0" {
			items[i].Lifecycle = composition.Archived
		}
	}
	free, err := resolve(t, items, erp)
	if err != nil || free.Composition.Root.Children[0].Agent.Version != "2.1.9" {
		t.Fatalf("without a lock: %v, %v", free, err)
	}
	r, err := resolve(t, items, withLock(l))
	if err != nil || r.Composition.Root.Children[0].Agent.Version != "2.1.0" {
		t.Fatalf("with the lock: %v, %v", r, err)
	}
	if string(r.Lock.Bytes()) != string(l.Bytes()) {
		t.Error("the lock has changed")
	}
}

func TestLockMismatch(t *testing.T) {
	t.Parallel()
	implicit := []composition.Item{agent("lead", "", "agents: [helper]"), agent("helper", "")}
	first, err := composition.ResolveAgent(composition.NewCatalog(implicit), composition.Ref{Slug: "lead"}, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		items []composition.Item
		want  string
	}{
		{"an edited file", []composition.Item{implicit[0], stored(implicit[1]), agent("helper", "", "mode: subagent")}, "helper-.md has changed since"},
		{"a file that is gone", implicit[:1], "is not there"},
		{"a new reference", []composition.Item{agent("lead", "", "agents: [helper, other]"), implicit[1], agent("other", "")}, "lead-.md has changed since"},
	}
	for _, tc := range tests {
		_, err := composition.ResolveAgent(composition.NewCatalog(tc.items), composition.Ref{Slug: "lead"}, composition.Options{Lock: first.Lock})
		if workflow.CodeOf(err) != workflow.CodeLockMismatch || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "--update-lock") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	_, err = composition.ResolveAgent(composition.NewCatalog(implicit), composition.Ref{Slug: "helper", Version: "latest"}, composition.Options{Lock: &composition.Lock{}})
	if workflow.CodeOf(err) != workflow.CodeLockMismatch || !strings.Contains(err.Error(), "not in the lock") {
		t.Errorf("an empty lock: %v", err)
	}
	if _, err = composition.ResolveAgent(composition.NewCatalog(implicit), composition.Ref{Slug: "helper"}, composition.Options{Lock: &composition.Lock{}, Loose: true}); err != nil {
		t.Error(err)
	}
	same := closing(t, nil)
	for i := range same {
		if same[i].Version == "2.1.0" {
			same[i] = stored(agent("ledger-auditor", "2.1.0", "mode: subagent"))
		}
	}
	if _, err := resolve(t, same, withLock(locked(t))); workflow.CodeOf(err) != workflow.CodeLockMismatch {
		t.Errorf("other content under the pinned version: %v", err)
	}
}

func TestParseLockRefuses(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("a", 64)
	good := `{"kind":"agent","ref":"a","version":"1.0.0","tier":"project","digest":"` + digest + `"}`
	for text, want := range map[string]string{
		`{`:                           "cannot be used",
		`{"lockVersion":2,"pins":[]}`: "version 2",
		`{"lockVersion":1,"pins":{}}`: "object",
		`{"lockVersion":1,"pins":[` + good + `,` + good + `]}`:                             "twice",
		`{"lockVersion":1,"pins":[` + strings.Replace(good, "1.0.0", "1", 1) + `]}`:        "not a version",
		`{"lockVersion":1,"pins":[` + strings.Replace(good, `"a"`, `"A"`, 1) + `]}`:        "lower-case",
		`{"lockVersion":1,"pins":[` + strings.Replace(good, "project", "galaxy", 1) + `]}`: "tier",
		`{"lockVersion":1,"pins":[` + strings.Replace(good, digest, "short", 1) + `]}`:     "digest",
		"<<<<<<< HEAD\n{\"lockVersion\":1,\"pins\":[]}\n=======\n{}\n>>>>>>> other\n":      "cannot be used",
	} {
		_, err := composition.ParseLock("tenon.lock", []byte(text))
		if workflow.CodeOf(err) != workflow.CodeLockMismatch || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestLockMerge(t *testing.T) {
	t.Parallel()
	pin := func(ref, version string) *composition.Lock {
		l, err := composition.ParseLock("x", []byte(`{"lockVersion":1,"pins":[{"kind":"agent","ref":"`+ref+`","version":"`+version+`","tier":"org","digest":"`+strings.Repeat("0", 64)+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	m := pin("b", "1.0.0").Merge(pin("a", "1.0.0")).Merge(pin("b", "2.0.0"))
	if pins := m.Pins(); len(pins) != 2 || pins[0].Ref != "a" || pins[1].Version != "2.0.0" {
		t.Errorf("%+v", pins)
	}
}

// The order of items does not count for anything.
func TestCatalogOrder(t *testing.T) {
	t.Parallel()
	items := append(closing(t, nil), agent("other", ""), skill("other", "1.0.0"))
	for i := range items {
		twin := items[i]
		twin.Tier, twin.Source = composition.TierSystem, "system:"+twin.Source
		items = append(items, twin)
	}
	want := ""
	for seed := range uint64(10) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		r, err := resolve(t, items, erp)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := r.Composition.Digest()
		if err != nil {
			t.Fatal(err)
		}
		got := digest + string(r.Lock.Bytes()) + composition.NewCatalog(items).Shadows().Error()
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("seed %d gives\n%s\nwant\n%s", seed, got, want)
		}
	}
}
