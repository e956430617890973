// Package artifacttest is the suite that every place of artifacts must pass.
//
// Holds: the tests of the contracts in package artifact.
//
// Guarantees: collections that pass Run behave like all others that do; those that
// pass Durable keep what they took when they are opened again.
//
// Does not: belong into a product. Only tests import it.
package artifacttest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// MaxBytes is the limit of a content that Run needs.
const MaxBytes = 1000

// Run tests a kind of collections. open returns empty ones with the limit
// MaxBytes, and closes them when the test ends.
func Run(t *testing.T, open func(*testing.T) artifact.Collections) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, artifact.Collections)
	}{
		{"nothing", nothing},
		{"revisions", revisions},
		{"relabel", relabel},
		{"refused drafts", refusedDrafts},
		{"contents are exact", exact},
		{"edits", edits},
		{"receipts", receipts},
		{"a write that comes again", again},
		{"delete", deletes},
		{"publish", publish},
		{"revert", revert},
		{"writers at once", atOnce},
		{"collections are apart", apart},
		{"fork", fork},
		{"merge", merge},
		{"merge refuses", mergeRefuses},
		{"cancelled", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// Durable tests collections that outlive their process. open opens those of a
// directory; done is called before they are opened again.
func Durable(t *testing.T, open func(t *testing.T, dir string) (c artifact.Collections, done func())) {
	t.Run("opened again", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		all, done := open(t, dir)
		c := collection(t, all, "c")
		put(t, c, draft("a", "one"))
		put(t, c, draft("b", "x"))
		edit(t, c, "a", "two")
		check(t, c.Delete(t.Context(), "b"))
		_, err := c.Publish(t.Context(), "a", &artifact.Publication{URL: "https://x/1", Version: 1})
		check(t, err)
		before := state(t, c)
		done()
		all, done = open(t, dir)
		defer done()
		c = collection(t, all, "c")
		if after := state(t, c); !reflect.DeepEqual(before, after) {
			t.Errorf("it was\n%+v\nand is\n%+v", before, after)
		}
		if r := put(t, c, draft("a", "three")); !r.OverwrotePerson || r.Descriptor.Version != 3 {
			t.Errorf("the person is forgotten: %+v", r)
		}
		if r := put(t, c, draft("b", "y")); r.Descriptor.Version != 2 || r.Descriptor.VersionCount != 1 {
			t.Errorf("the deleted one goes on as %+v", r.Descriptor)
		}
		names, err := all.Names(t.Context())
		if err != nil || !slices.Equal(names, []string{"c"}) {
			t.Errorf("the names are %q (%v)", names, err)
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code workflow.Code) {
	t.Helper()
	if err == nil || workflow.CodeOf(err) != code {
		t.Errorf("the error is %v, not one of %s", err, code)
	}
}

func collection(t *testing.T, all artifact.Collections, name string) artifact.Collection {
	t.Helper()
	c, err := all.Open(t.Context(), name)
	check(t, err)
	return c
}

func draft(id, content string) artifact.Draft {
	return artifact.Draft{ID: id, Title: "Title of " + id, Mime: "text/plain", Content: content}
}

func put(t *testing.T, c artifact.Store, d artifact.Draft) artifact.Receipt {
	t.Helper()
	r, err := c.Put(t.Context(), d)
	check(t, err)
	return r
}

func edit(t *testing.T, c artifact.Store, id, content string) artifact.Descriptor {
	t.Helper()
	d, err := c.Edit(t.Context(), artifact.Edit{Artifact: id, Content: content})
	check(t, err)
	return d
}

// line is a revision with its content.
type line struct {
	artifact.Revision
	content string
}

// all is everything that a collection shows.
type all struct {
	list      []artifact.Descriptor
	artifacts []artifact.Artifact
	lines     []line
}

func state(t *testing.T, c artifact.Collection) (out all) {
	t.Helper()
	var err error
	out.list, err = c.List(t.Context())
	check(t, err)
	for _, d := range out.list {
		a, err := c.Get(t.Context(), d.ID)
		check(t, err)
		out.artifacts = append(out.artifacts, a)
	}
	for copied, err := range c.Export(t.Context()) {
		check(t, err)
		l := line{Revision: copied.Revision}
		if !l.Deleted {
			l.content, err = copied.Content(t.Context())
			check(t, err)
		}
		out.lines = append(out.lines, l)
	}
	return out
}

func nothing(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	if s := state(t, c); len(s.list)+len(s.lines) != 0 {
		t.Errorf("there is something: %+v", s)
	}
	_, err := c.Get(t.Context(), "a")
	wantCode(t, err, workflow.CodeNotFound)
	_, _, err = c.Read(t.Context(), "a", artifact.Latest)
	wantCode(t, err, workflow.CodeNotFound)
	_, err = c.Edit(t.Context(), artifact.Edit{Artifact: "a", Content: strings.Repeat("x", MaxBytes+1)})
	wantCode(t, err, workflow.CodeNotFound)
	wantCode(t, c.Delete(t.Context(), "a"), workflow.CodeNotFound)
	_, err = c.Publish(t.Context(), "a", nil)
	wantCode(t, err, workflow.CodeNotFound)
	if names, err := all.Names(t.Context()); len(names) > 0 || err != nil {
		t.Errorf("what nobody wrote to has the names %q (%v)", names, err)
	}
	if again := collection(t, all, "c"); again != c {
		t.Error("a collection is another one when it is opened again")
	}
	for _, name := range []string{"", "..", ".x", "a/b", "a.", "nul", "a\n", strings.Repeat("x", 10_000)} {
		_, err := all.Open(t.Context(), name)
		wantCode(t, err, workflow.CodeInvalidArtifactID)
	}
}

func revisions(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	for i, content := range []string{"one", "two!", "two!"} {
		d := put(t, c, draft("a", content)).Descriptor
		if d.Version != int64(i+1) || d.VersionCount != i+1 || d.Bytes != int64(len(content)) || d.Kind != artifact.Text || d.Digest != artifact.Digest(content) {
			t.Errorf("put %d is described as %+v", i, d)
		}
	}
	put(t, c, draft("b", "x"))
	a, err := c.Get(t.Context(), "a")
	if check(t, err); len(a.Versions) != 3 || a.Title != "Title of a" || len(a.Twins()) != 0 {
		t.Errorf("it is %+v", a)
	}
	for version, want := range map[int64]string{1: "one", 2: "two!", 3: "two!", artifact.Latest: "two!"} {
		r, content, err := c.Read(t.Context(), "a", version)
		if err != nil || content != want || r.Version != version && version != artifact.Latest {
			t.Errorf("version %d is %+v %q (%v)", version, r, content, err)
		}
	}
	for _, version := range []int64{0, -1, 4} {
		_, _, err := c.Read(t.Context(), "a", version)
		wantCode(t, err, workflow.CodeNotFound)
	}
	list, err := c.List(t.Context())
	if check(t, err); len(list) != 2 || list[0].ID != "a" || list[1].ID != "b" {
		t.Errorf("the list is %+v", list)
	}
}

func relabel(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, artifact.Draft{ID: "a", Title: "Old", Mime: "text/x-python", Language: "python", Content: "1"})
	if d := edit(t, c, "a", "2"); d.Title != "Old" || d.Language != "python" || d.Mime != "text/x-python" || d.Author != artifact.Person {
		t.Errorf("an edit changes labels: %+v", d)
	}
	d := put(t, c, artifact.Draft{ID: "a", Title: "New", Mime: "Text/HTML; charset=utf-8", Content: "3"}).Descriptor
	if d.Title != "New" || d.Kind != artifact.Page || d.Language != "" || d.Author != artifact.Model {
		t.Errorf("a draft leaves labels: %+v", d)
	}
}

func refusedDrafts(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "one"))
	before := state(t, c)
	full := strings.Repeat("é", MaxBytes/2)
	for _, test := range []struct {
		draft artifact.Draft
		code  workflow.Code
	}{
		{draft("", "x"), workflow.CodeInvalidArtifactID},
		{draft("../a", "x"), workflow.CodeInvalidArtifactID},
		{draft("a/b", "x"), workflow.CodeInvalidArtifactID},
		{draft(`a\b`, "x"), workflow.CodeInvalidArtifactID},
		{draft("..", "x"), workflow.CodeInvalidArtifactID},
		{draft("a\x00", "x"), workflow.CodeInvalidArtifactID},
		{draft("a\n", "x"), workflow.CodeInvalidArtifactID},
		{draft("CON", "x"), workflow.CodeInvalidArtifactID},
		{draft("lpt1.md", "x"), workflow.CodeInvalidArtifactID},
		{draft("é", "x"), workflow.CodeInvalidArtifactID},
		{draft(strings.Repeat("x", 10_000), "x"), workflow.CodeInvalidArtifactID},
		{draft(strings.Repeat("x", artifact.MaxID+1), "x"), workflow.CodeInvalidArtifactID},
		{draft("a", full+"x"), workflow.CodeArtifactTooLarge},
		{draft("n", full+"x"), workflow.CodeArtifactTooLarge},
		{draft("a", "\xff"), workflow.CodeInvalidArtifact},
		{artifact.Draft{ID: "a", Title: "\xff", Mime: "text/plain"}, workflow.CodeInvalidArtifact},
		{artifact.Draft{ID: "a", Title: strings.Repeat("x", artifact.MaxLabel+1)}, workflow.CodeInvalidArtifact},
		{artifact.Draft{ID: "a", Author: "robot"}, workflow.CodeInvalidArtifact},
	} {
		_, err := c.Put(t.Context(), test.draft)
		wantCode(t, err, test.code)
	}
	_, err := c.Edit(t.Context(), artifact.Edit{Artifact: "a", Content: full + "x"})
	wantCode(t, err, workflow.CodeArtifactTooLarge)
	if after := state(t, c); !reflect.DeepEqual(before, after) {
		t.Errorf("something stayed of what was refused: %+v", after)
	}
	if d := put(t, c, draft("a", full)).Descriptor; d.Version != 2 || d.Bytes != MaxBytes {
		t.Errorf("what just fits becomes %+v", d)
	}
}

func exact(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	for i, content := range []string{"", "\ufeffa\r\nb", "e\u0301", "a\x00b", "日本 😀\n", "<script>&amp;\u2028"} {
		id := fmt.Sprint("c", i)
		d := put(t, c, draft(id, content)).Descriptor
		_, got, err := c.Read(t.Context(), id, 1)
		if err != nil || got != content || d.Bytes != int64(len(content)) {
			t.Errorf("%q came back as %q (%+v, %v)", content, got, d, err)
		}
	}
}

func edits(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "one"))
	put(t, c, draft("a", "two"))
	_, err := c.Edit(t.Context(), artifact.Edit{Artifact: "a", Content: "mine", Base: 1})
	wantCode(t, err, workflow.CodeArtifactConflict)
	d, err := c.Edit(t.Context(), artifact.Edit{Artifact: "a", Content: "mine", Base: 2})
	if err != nil || d.Version != 3 || d.Author != artifact.Person {
		t.Errorf("the edit is %+v (%v)", d, err)
	}
	a, err := c.Get(t.Context(), "a")
	if check(t, err); a.Versions[1].Author != artifact.Model || a.Versions[2].Author != artifact.Person {
		t.Errorf("the authors are lost: %+v", a)
	}
}

func receipts(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	if r := put(t, c, draft("a", "1")); r.OverwrotePerson || r.Note != "" {
		t.Errorf("the first one warns: %+v", r)
	}
	edit(t, c, "a", "2")
	edit(t, c, "a", "3")
	_, err := c.Put(t.Context(), draft("a", strings.Repeat("x", MaxBytes+1)))
	wantCode(t, err, workflow.CodeArtifactTooLarge)
	r := put(t, c, draft("a", "4"))
	if !r.OverwrotePerson || !slices.Equal(r.PersonVersions, []int64{2, 3}) {
		t.Errorf("the receipt is %+v", r)
	}
	if want := "Note: version 3 was edited by a person (versions 2–3) and is now replaced by version 4. Read it with artifact_read before changing it again."; r.Note != want {
		t.Errorf("the note is %q", r.Note)
	}
	if r := put(t, c, draft("a", "5")); r.OverwrotePerson {
		t.Errorf("the warning comes twice: %+v", r)
	}
	edit(t, c, "a", "6")
	if r := put(t, c, draft("a", "6")); r.OverwrotePerson || r.Descriptor.Version != 7 {
		t.Errorf("the same text warns: %+v", r)
	}
	edit(t, c, "a", "8")
	if r := put(t, c, artifact.Draft{ID: "a", Content: "9", Author: artifact.Person}); r.OverwrotePerson {
		t.Errorf("a person is warned of a person: %+v", r)
	}
}

func deletes(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "1"))
	put(t, c, draft("a", "2"))
	put(t, c, draft("b", "1"))
	check(t, c.Delete(t.Context(), "a"))
	wantCode(t, c.Delete(t.Context(), "a"), workflow.CodeNotFound)
	_, _, err := c.Read(t.Context(), "a", 1)
	wantCode(t, err, workflow.CodeNotFound)
	list, err := c.List(t.Context())
	if check(t, err); len(list) != 1 {
		t.Errorf("the list is %+v", list)
	}
	if d := put(t, c, draft("a", "3")).Descriptor; d.Version != 3 || d.VersionCount != 1 {
		t.Errorf("it goes on as %+v", d)
	}
	// What the deletion covers does not come back from somebody who missed it.
	before := state(t, c)
	other := collection(t, all, "other")
	put(t, other, draft("a", "0"))
	_, err = other.Merge(t.Context(), c.Export(t.Context()))
	check(t, err)
	if _, _, err := other.Read(t.Context(), "a", 2); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("the deleted version is in the other one: %v", err)
	}
	if after := state(t, c); !reflect.DeepEqual(before, after) {
		t.Error("an export changes what it exports")
	}
}

func publish(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "1"))
	link := &artifact.Publication{URL: "https://x/1", Visibility: artifact.Team, TeamID: "t", Version: 1}
	d, err := c.Publish(t.Context(), "a", link)
	if check(t, err); d.Publication == nil || d.Publication.Version != 1 || d.Publication.Digest != artifact.Digest("1") || d.Stale() {
		t.Errorf("it is published as %+v", d.Publication)
	}
	if d := edit(t, c, "a", "2"); d.Publication == nil || d.Publication.Version != 1 || !d.Stale() {
		t.Errorf("after an edit it is %+v", d)
	}
	if d := put(t, c, draft("a", "1")).Descriptor; d.Stale() {
		t.Errorf("the old text again is stale: %+v", d)
	}
	for _, bad := range []artifact.Publication{
		{URL: "https://x/1", Version: 9}, {URL: "https://x/1"}, {URL: "https://x/1", Version: artifact.Latest},
	} {
		_, err = c.Publish(t.Context(), "a", &bad)
		wantCode(t, err, workflow.CodeNotFound)
	}
	for _, bad := range []artifact.Publication{
		{Version: 1}, {URL: "a\nb", Version: 1}, {URL: "u", Version: 1, Visibility: "world"}, {URL: "u", Version: 1, TeamID: "t"},
	} {
		_, err = c.Publish(t.Context(), "a", &bad)
		wantCode(t, err, workflow.CodeInvalidArtifact)
	}
	for range 2 {
		if d, err := c.Publish(t.Context(), "a", nil); err != nil || d.Publication != nil || d.Stale() {
			t.Errorf("it is still out: %+v (%v)", d, err)
		}
	}
}

func revert(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "1"))
	put(t, c, draft("a", "2"))
	d, err := artifact.Revert(t.Context(), c, "a", 1)
	if err != nil || d.Version != 3 || d.Author != artifact.Person || d.Digest != artifact.Digest("1") {
		t.Errorf("it is %+v (%v)", d, err)
	}
	_, err = artifact.Revert(t.Context(), c, "a", 7)
	wantCode(t, err, workflow.CodeNotFound)
}

func atOnce(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := c.Put(t.Context(), draft("a", fmt.Sprint(w, "/", i))); err != nil {
					t.Error(err)
				}
				if _, err := c.List(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := state(t, c)
	seen := map[string]bool{}
	for i, l := range s.lines {
		seen[l.content] = true
		if l.Version != int64(i+1) || l.Seq != int64(i+1) {
			t.Errorf("revision %d is %+v", i, l.Revision)
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d texts of %d are there", len(seen), writers*each)
	}
}
