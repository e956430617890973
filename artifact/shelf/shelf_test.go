package shelf_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/shelf"
	"github.com/tenonrun/tenon/internal/text"
	nodes "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// secret is a value of the environment that no artifact may hold.
const secret = "hunter2-hunter2"

// runs is a store with a run, its child, and a fork of it after three events.
func runs(t *testing.T) store.Store {
	t.Helper()
	s := memory.New()
	for _, a := range []store.Append{
		{Run: "rparent0000", Create: &store.Create{}, Head: &store.Head{Status: workflow.StatusSucceeded}, Events: []workflow.Event{
			{Seq: 1, Payload: &workflow.RunStarted{Kind: workflow.KindGraph}},
			{Seq: 2, ID: "early#1", Payload: &workflow.Settled{Made: &workflow.Made{Collection: "rparent0000", ID: "early", Version: 1}}},
			{Seq: 3, ID: "late#1", Payload: &workflow.Settled{Made: &workflow.Made{Collection: "rparent0000", ID: "late", Version: 1}}},
		}},
		{Run: "rchild00000", Create: &store.Create{}, Head: &store.Head{Root: "rparent0000", ChildOf: "rparent0000"}, Events: []workflow.Event{
			{Seq: 1, Payload: &workflow.RunStarted{Kind: workflow.KindGraph}},
		}},
		{Run: "rfork000000", Create: &store.Create{Parent: "rparent0000", Cut: 2}, After: 2, Head: &store.Head{}, Events: []workflow.Event{
			{Seq: 3, Payload: &workflow.Forked{Parent: "rparent0000", Cut: 2}},
		}},
	} {
		owner, err := s.Own(t.Context(), a.Run)
		if err != nil {
			t.Fatal(err)
		}
		a.Epoch = owner.Epoch()
		for i := range a.Events {
			a.Events[i].Epoch = a.Epoch
		}
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		owner.Release()
	}
	return s
}

func opened(t *testing.T) *shelf.Shelf {
	t.Helper()
	s, err := shelf.New(shelf.Config{
		Runs: runs(t), Redactor: text.NewRedactor([]string{"API_KEY=" + secret}),
		Tools: func() (*tool.Set, error) { return tool.NewSet() },
		Retrace: func(context.Context, workflow.RunID, map[workflow.VisitID]bool, func(nodes.Source) error) error {
			return nil // what the visits wrote is not known any more
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, c artifact.Collection, id, content string) {
	t.Helper()
	if _, err := c.Put(t.Context(), artifact.Draft{ID: id, Title: id, Mime: "text/markdown", Content: content}); err != nil {
		t.Fatal(err)
	}
}

// TestOneCollectionATree: a run and its children write into one collection, in
// which no known secret is stored.
func TestOneCollectionATree(t *testing.T) {
	t.Parallel()
	s := opened(t)
	name, c, err := s.Of(t.Context(), "rchild00000")
	if err != nil || name != "rparent0000" {
		t.Fatalf("the child writes into %q, %v", name, err)
	}
	put(t, c, "plan", "the key is "+secret)
	_, own, err := s.Open(t.Context(), "rparent0000", "")
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := own.Read(t.Context(), "plan", 1)
	if err != nil || strings.Contains(got, secret) || !strings.HasPrefix(got, "the key is ") {
		t.Errorf("the parent reads %q, %v", got, err)
	}
	names, err := s.Names(t.Context())
	if err != nil || len(names) != 1 {
		t.Errorf("the collections are %v, %v", names, err)
	}
}

// TestForkHasWhatWasThereAtTheCut: by positions in the history, not by clocks.
func TestForkHasWhatWasThereAtTheCut(t *testing.T) {
	t.Parallel()
	s := opened(t)
	_, c, err := s.Of(t.Context(), "rparent0000")
	if err != nil {
		t.Fatal(err)
	}
	told, ok := s.Rehydrated("rparent0000")
	if want := []string{"early version 1: the history does not hold it", "late version 1: the history does not hold it"}; !ok || !slices.Equal(told.Missing, want) || told.Versions != 0 {
		t.Errorf("of the lost log it tells %+v, %v", told, ok)
	}
	put(t, c, "early", "before the cut")
	put(t, c, "late", "after it")
	if err := s.Forked(t.Context(), "rfork000000"); err != nil {
		t.Fatal(err)
	}
	_, fork, err := s.Of(t.Context(), "rfork000000")
	if err != nil {
		t.Fatal(err)
	}
	list, err := fork.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "early" {
		t.Errorf("the fork has %+v, %v", list, err)
	}
}

// TestNamesOfRunsAreTheirs: nobody else's collection is named like a run.
func TestNamesOfRunsAreTheirs(t *testing.T) {
	t.Parallel()
	s := opened(t)
	for name, code := range map[string]workflow.Code{
		"rparent0000": workflow.CodeInvalidArtifactID, "rnobody0000": workflow.CodeInvalidArtifactID, "../x": workflow.CodeInvalidArtifactID, "": workflow.CodeInvalidArtifactID,
	} {
		if _, err := s.Shared(t.Context(), name); workflow.CodeOf(err) != code {
			t.Errorf("%q: %v", name, err)
		}
	}
	c, err := s.Shared(t.Context(), "team")
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, "plan", "for all")
	if _, ok, err := s.Named(t.Context(), "team"); !ok || err != nil {
		t.Errorf("the collection is there: %v, %v", ok, err)
	}
	if _, ok, err := s.Named(t.Context(), "teams"); ok || err != nil {
		t.Errorf("no such collection: %v, %v", ok, err)
	}
	if _, _, err := s.Of(t.Context(), "rnobody0000"); workflow.CodeOf(err) != workflow.CodeRunNotFound {
		t.Errorf("a run that is not there: %v", err)
	}
}
