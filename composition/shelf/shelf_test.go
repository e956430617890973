package shelf_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/files"
	"github.com/tenonrun/tenon/composition/shelf"
	"github.com/tenonrun/tenon/workflow"
)

func agent(version, prompt string, lines ...string) composition.Item {
	head := "---\nname: a\ndescription: d\n"
	if version != "" {
		head += "version: " + version + "\n"
	}
	for _, l := range lines {
		head += l + "\n"
	}
	it := composition.ReadAgent(".tenon/agents/a.md", "a", []byte(head+"---\n"+prompt+"\n"))
	it.Tier = composition.TierProject
	return it
}

func publish(t *testing.T, s *shelf.Shelf, it composition.Item) shelf.Record {
	t.Helper()
	r, err := s.Publish(shelf.Publication{Item: &it})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPublish(t *testing.T) {
	t.Parallel()
	s := shelf.New(filepath.Join(t.TempDir(), "deep", "shelf"))
	if r := publish(t, s, agent("1.0.0", "one")); r.Revision != 1 || r.Implicit {
		t.Errorf("%+v", r)
	}
	if r := publish(t, s, agent("1.0.0", "one")); r.Revision != 1 {
		t.Errorf("the same again is %+v", r)
	}
	changed := agent("1.0.0", "two")
	if _, err := s.Publish(shelf.Publication{Item: &changed}); workflow.CodeOf(err) != workflow.CodeVersionConflict || !strings.Contains(err.Error(), "new version") {
		t.Errorf("other content under the same version: %v", err)
	}
	next := publish(t, s, agent("1.1.0", "two", "lifecycle: draft"))
	if next.Revision != 2 {
		t.Errorf("%+v", next)
	}
	if r := publish(t, s, agent("1.1.0", "two")); r.Revision != 2 || r.Digest != next.Digest {
		t.Errorf("a draft that was published is another one without its lifecycle: %+v", r)
	}
	if raw, err := s.Fetch(next.Digest); err != nil || !strings.Contains(string(raw), "two") {
		t.Errorf("%q, %v", raw, err)
	}
	list, err := s.List(composition.KindAgent)
	if err != nil || len(list) != 2 || list[0].Version != "1.0.0" || list[1].Version != "1.1.0" {
		t.Errorf("%+v, %v", list, err)
	}
	items, err := s.Items()
	if err != nil || len(items) != 2 || items[1].Lifecycle != composition.Published || items[1].Agent.Prompt != "two" || !items[1].Stored {
		t.Errorf("%+v, %v", items, err)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	broken := composition.ReadAgent("b.md", "b", []byte("no head"))
	draft, old := agent("1.0.0", "x", "lifecycle: draft"), agent("1.0.0", "x", "lifecycle: archived")
	tests := []struct {
		name string
		p    shelf.Publication
		code workflow.Code
	}{
		{"what cannot be used", shelf.Publication{Item: &broken}, workflow.CodeInvalidComposition},
		{"a draft, by a run", shelf.Publication{Item: &draft, Implicit: true}, workflow.CodeNotPublished},
		{"what is archived", shelf.Publication{Item: &old}, workflow.CodeInvalidArguments},
	}
	for _, tc := range tests {
		dir := t.TempDir()
		if _, err := shelf.New(dir).Publish(tc.p); workflow.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", tc.name, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s left %v, %v", tc.name, entries, err)
		}
	}
}

// A version that a run kept is found by its exact name only; one that was published
// is the latest where there is no file.
func TestImplicit(t *testing.T) {
	t.Parallel()
	s := shelf.New(t.TempDir())
	it := agent("2.0.0", "x")
	r, err := s.Publish(shelf.Publication{Item: &it, Implicit: true, At: time.Unix(1e9, 0).UTC()})
	if err != nil || !r.Implicit || r.At.Year() != 2001 {
		t.Fatalf("%+v, %v", r, err)
	}
	look := func(version string) error {
		items, err := s.Items()
		if err != nil {
			t.Fatal(err)
		}
		_, err = composition.NewCatalog(items).Find(composition.KindAgent, composition.Ref{Slug: "a", Version: version}, composition.Options{})
		return err
	}
	if look("") == nil || look("2.0.0") != nil {
		t.Errorf("latest: %v, exact: %v", look(""), look("2.0.0"))
	}
	if r = publish(t, s, it); r.Implicit || r.Revision != 1 {
		t.Errorf("%+v", r)
	}
	if err := look(""); err != nil {
		t.Error(err)
	}
	if err := look("1"); err != nil {
		t.Error("by revision:", err)
	}
	if _, err := s.Archive(composition.KindAgent, composition.TierProject, composition.Ref{Slug: "a", Version: "2.0.0"}); err != nil {
		t.Fatal(err)
	}
	if err := look("2.0.0"); err == nil || !strings.Contains(err.Error(), "archived") {
		t.Errorf("an archived version: %v", err)
	}
}

// A file that is as it was archived is not resolved any more; a lock still leads to
// it.
func TestArchivedFile(t *testing.T) {
	t.Parallel()
	s := shelf.New(t.TempDir())
	it := agent("1.0.0", "x")
	c := composition.NewCatalog([]composition.Item{it})
	r, err := composition.ResolveAgent(c, composition.Ref{Slug: "a"}, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(r.Items, nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Archive(composition.KindAgent, composition.TierProject, composition.Ref{Slug: "a", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	items, err := s.Items()
	if err != nil {
		t.Fatal(err)
	}
	c = composition.NewCatalog(append(items, it))
	if _, err := composition.ResolveAgent(c, composition.Ref{Slug: "a"}, composition.Options{}); workflow.CodeOf(err) != workflow.CodeNotPublished {
		t.Error(err)
	}
	if _, err := composition.ResolveAgent(c, composition.Ref{Slug: "a"}, composition.Options{Lock: r.Lock}); err != nil {
		t.Error(err)
	}
}

func TestArchiveUnknown(t *testing.T) {
	t.Parallel()
	s := shelf.New(t.TempDir())
	publish(t, s, agent("1.0.0", "x"))
	for _, version := range []string{"1.0.1", ""} {
		_, err := s.Archive(composition.KindAgent, composition.TierProject, composition.Ref{Slug: "a", Version: version})
		if workflow.CodeOf(err) != workflow.CodeNotFound || !strings.Contains(err.Error(), "1.0.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
	if _, err := s.Archive(composition.KindAgent, composition.TierProject, composition.Ref{Slug: "../a", Version: "1.0.0"}); workflow.CodeOf(err) != workflow.CodeInvalidArguments {
		t.Error(err)
	}
}

func TestSkill(t *testing.T) {
	t.Parallel()
	f, err := files.Read(t.Context(), files.Config{System: fstest.MapFS{
		"skills/pdf/SKILL.md": {Data: []byte("---\nname: pdf\ndescription: d\nversion: 1.0.0\n---\n")}, "skills/pdf/a/b.txt": {Data: []byte("b")},
	}})
	if err != nil || len(f.Items) != 1 || f.Items[0].Err != nil {
		t.Fatalf("%+v, %v", f, err)
	}
	s := shelf.New(t.TempDir())
	if _, err := s.Publish(shelf.Publication{Item: &f.Items[0], Files: f.ReadFile}); err != nil {
		t.Fatal(err)
	}
	items, err := s.Items()
	if err != nil || len(items) != 1 || items[0].Err != nil {
		t.Fatalf("%+v, %v", items, err)
	}
	if items[0].Digest != f.Items[0].Digest || items[0].Skill.Description != "d" {
		t.Errorf("%+v", items[0])
	}
	if raw, err := s.ReadFile(&items[0], "a/b.txt"); err != nil || string(raw) != "b" {
		t.Errorf("%q, %v", raw, err)
	}
	if _, err := s.ReadFile(&items[0], "c"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What is damaged is told, and hurts nothing else; publishing mends it.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := shelf.New(dir)
	r := publish(t, s, agent("1.0.0", "one"))
	publish(t, s, agent("1.1.0", "two"))
	blob := filepath.Join(dir, "blobs", r.Digest[:2], r.Digest[2:])
	if err := os.WriteFile(blob, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(r.Digest); workflow.CodeOf(err) != workflow.CodeStoreDamaged || !strings.Contains(err.Error(), blob) {
		t.Error(err)
	}
	items, err := s.Items()
	if err != nil || len(items) != 2 || items[0].Err == nil || items[1].Err != nil {
		t.Errorf("%+v, %v", items, err)
	}
	publish(t, s, agent("1.0.0", "one"))
	if _, err := s.Fetch(r.Digest); err != nil {
		t.Error(err)
	}
	for _, digest := range []string{"", "../../x", strings.Repeat("Z", 64), strings.Repeat("0", 64)} {
		if _, err := s.Fetch(digest); err == nil {
			t.Errorf("%q was fetched", digest)
		}
	}
}

// Whatever many publish at one time, revisions have no holes and a version has one
// content.
func TestPublishAtOneTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const publishers, each = 8, 6
	var wg sync.WaitGroup
	won := make([][]string, publishers)
	for p := range publishers {
		wg.Go(func() {
			s := shelf.New(dir) // as another process would
			for i := range each {
				it := agent(fmt.Sprintf("1.%d.0", i), fmt.Sprint("by ", p))
				r, err := s.Publish(shelf.Publication{Item: &it})
				switch {
				case err == nil:
					won[p] = append(won[p], r.Version)
				case workflow.CodeOf(err) != workflow.CodeVersionConflict:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := shelf.New(dir).List(composition.KindAgent)
	if err != nil || len(list) != each {
		t.Fatalf("%d records, want %d: %v", len(list), each, err)
	}
	for i, r := range list {
		if r.Revision != i+1 {
			t.Errorf("record %d has the revision %d", i, r.Revision)
		}
	}
	if all := slices.Concat(won...); len(all) != each {
		t.Errorf("%d publishers were told that they won, want %d", len(all), each)
	}
	left, err := filepath.Glob(filepath.Join(dir, "versions", "*", "*", "*", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
