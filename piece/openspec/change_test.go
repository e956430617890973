package openspec_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/workflow"
)

// TestArchiveForAnotherKind archives a change for a node that has no params of
// this package, and again in the same visit and in a new one.
func TestArchiveForAnotherKind(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	cfg := openspec.Config{Runner: twin("2026-01-01"), Command: command}
	changes := openspec.NewChanges(cfg)
	candidate, err := hash(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := visit(t, dir, "implementation", "{}", cfg)
	for range 2 {
		if err := changes.Archive(context.Background(), n.Context, "dim-lamp", candidate); err != nil {
			t.Fatal(err)
		}
	}
	before := list(t, dir)
	other := visit(t, dir, "implementation", "{}", cfg)
	err = changes.Archive(context.Background(), other.Context, "dim-lamp", candidate)
	if workflow.CodeOf(err) != workflow.CodeChangeNotFound {
		t.Fatal(err)
	}
	for _, part := range []string{"archived already, as 2026-01-01-dim-lamp", "move it back to openspec/changes/dim-lamp"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "allowArchived") {
		t.Errorf("it names a param that the node has not: %v", err)
	}
	if list(t, dir) != before {
		t.Error("something was changed")
	}
}
