package notes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/notes"
)

func open(t *testing.T) (*notes.Store, notes.Config) {
	t.Helper()
	dir := t.TempDir()
	c := notes.Config{Project: filepath.Join(dir, "project"), User: filepath.Join(dir, "user"), MaxReviews: 20, Redactor: text.NewRedactor(nil, "s3cret-value")}
	s, err := notes.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func lesson(slug string) notes.Note {
	return notes.Note{Scope: notes.Project, Kind: notes.Lesson, Slug: slug, Text: "# Use make\n\n---\nscope: user"}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s, c := open(t)
	ctx := t.Context()
	if list, err := s.List(ctx, notes.Project); len(list) != 0 || err != nil {
		t.Errorf("nothing yet: %v, %v", list, err)
	}
	if _, err := s.Get(ctx, notes.Project, "con"); !errors.Is(err, notes.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := s.Replace(ctx, lesson("con")); !errors.Is(err, notes.ErrNotFound) {
		t.Errorf("replaced nothing: %v", err)
	}
	for _, slug := range []string{"con", "b-2"} {
		if err := s.Add(ctx, lesson(slug)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(ctx, lesson("con")); !errors.Is(err, notes.ErrExists) {
		t.Errorf("added twice: %v", err)
	}
	if got, err := s.Get(ctx, notes.Project, "con"); err != nil || got != lesson("con") {
		t.Errorf("%+v, %v", got, err)
	}
	other := lesson("con")
	other.Kind, other.Text = notes.Preference, "tabs\r\n\x00\u202eand s3cret-value\xff"
	if err := s.Replace(ctx, other); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(ctx, notes.Project, "con")
	if err != nil || got.Kind != notes.Preference || strings.Contains(got.Text, "s3cret") || !strings.HasPrefix(got.Text, "tabs\nand ") || !utf8.ValidString(got.Text) {
		t.Errorf("%+v, %v", got, err)
	}
	mine := lesson("con")
	mine.Scope = notes.User
	if err := s.Add(ctx, mine); err != nil {
		t.Error("scopes share names", err)
	}
	if list, err := s.List(ctx, notes.Project); err != nil || len(list) != 2 || list[0].Slug != "b-2" {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Remove(ctx, notes.Project, "con"); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx, notes.Project, "con"); !errors.Is(err, notes.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	raw, err := os.ReadFile(filepath.Join(c.User, "notes", "note-con.md"))
	if err != nil || !strings.HasPrefix(string(raw), "---\nscope: user\nkind: lesson\nslug: con\n---\n# Use make") {
		t.Errorf("file %q, %v", raw, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s, c := open(t)
	bad := func(change func(*notes.Note)) notes.Note {
		n := lesson("a")
		change(&n)
		return n
	}
	for want, n := range map[string]notes.Note{
		"slug \"../reviews/x\"": bad(func(n *notes.Note) { n.Slug = "../reviews/x" }),
		"slug \"A\"":            bad(func(n *notes.Note) { n.Slug = "A" }),
		"slug \"\"":             bad(func(n *notes.Note) { n.Slug = "" }),
		"slug \"-a\"":           bad(func(n *notes.Note) { n.Slug = "-a" }),
		"slug \"a--b\"":         bad(func(n *notes.Note) { n.Slug = "a--b" }),
		"slug \"aaaa":           bad(func(n *notes.Note) { n.Slug = strings.Repeat("a", 65) }),
		"kind \"fact\"":         bad(func(n *notes.Note) { n.Kind = "fact" }),
		"scope \"org\"":         bad(func(n *notes.Note) { n.Scope = "org" }),
		"4001 characters":       bad(func(n *notes.Note) { n.Text = strings.Repeat("ä", 4001) }),
		"is empty":              bad(func(n *notes.Note) { n.Text = " \x00\n" }),
	} {
		if err := s.Add(t.Context(), n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if _, err := os.Stat(c.Project); err == nil {
		t.Error("something was written")
	}
	none, err := notes.Open(notes.Config{Project: c.Project})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.List(t.Context(), notes.User); err == nil || !strings.Contains(err.Error(), "no directory") {
		t.Errorf("got %v", err)
	}
	if _, err := notes.Open(notes.Config{Project: "here"}); err == nil {
		t.Error("a relative directory was taken")
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for i := range notes.MaxNotes {
		if err := s.Add(t.Context(), lesson(fmt.Sprintf("n%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(t.Context(), lesson("more")); !errors.Is(err, notes.ErrFull) {
		t.Errorf("got %v", err)
	}
	if err := s.Replace(t.Context(), lesson("n7")); err != nil {
		t.Errorf("no replacing in a full store: %v", err)
	}
	list, err := s.List(t.Context(), notes.Project)
	if err != nil || len(list) != notes.MaxNotes {
		t.Errorf("%d notes, %v", len(list), err)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	s, c := open(t)
	if err := s.Add(t.Context(), lesson("good")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(c.Project, "notes")
	for name, content := range map[string]string{
		"note-none.md": "no front matter", "note-open.md": "---\nkind: lesson\n", "note-kind.md": "---\nkind: x\n---\ntext",
		"note-binary.md": "\x00\xff\x01", "note-huge.md": "---\nkind: lesson\n---\n" + strings.Repeat("x", 70<<10), "note-empty.md": "",
		"note-by-hand.md": "---\r\nkind: \"pattern\"\r\nmore: x\r\n---\r\nwritten by hand", "note-Upper.md": "---\nkind: lesson\n---\nx", "other.txt": "not ours",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "note-link.md")); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), notes.Project)
	if len(list) != 2 || list[0].Slug != "by-hand" || list[0].Kind != notes.Pattern || list[1].Slug != "good" {
		t.Errorf("list %+v", list)
	}
	if !errors.Is(err, notes.ErrDamaged) || strings.Count(err.Error(), "mend or remove it") != 6 {
		t.Errorf("got %v", err)
	}
	for _, slug := range []string{"none", "link", "huge"} {
		if _, err := s.Get(t.Context(), notes.Project, slug); !errors.Is(err, notes.ErrDamaged) {
			t.Errorf("%s: %v", slug, err)
		}
	}
}

func about(candidate string) notes.About {
	return notes.About{Role: "reviewer", Tier: "a/m", Candidate: candidate, Node: "review", Repositories: []string{"repo"}}
}

func TestReviews(t *testing.T) {
	t.Parallel()
	s, c := open(t)
	ctx := t.Context()
	if _, ok, err := s.Prior(ctx, about("c1:a")); ok || err != nil {
		t.Errorf("nothing yet: %v, %v", ok, err)
	}
	long := strings.Repeat("ä", 5000) + "s3cret-value"
	if err := s.Record(ctx, about("c1:a"), notes.Review{Text: "first", Session: "s1\nkind: x", Run: "r1"}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := s.Prior(ctx, about("c1:a")); !ok || err != nil || got.Text != "first" || got.Session != "s1 kind: x" || got.Run != "r1" {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if err := s.Record(ctx, about("c1:a"), notes.Review{Text: long}); err != nil {
		t.Fatal(err)
	}
	got, _, _ := s.Prior(ctx, about("c1:a"))
	if utf8.RuneCountInString(got.Text) != notes.MaxText || strings.Contains(got.Text, "s3cret") {
		t.Errorf("%d characters", utf8.RuneCountInString(got.Text))
	}
	for name, change := range map[string]func(*notes.About){
		"role": func(a *notes.About) { a.Role = "x" }, "tier": func(a *notes.About) { a.Tier = "x" }, "candidate": func(a *notes.About) { a.Candidate = "x" },
		"scope": func(a *notes.About) { a.Scope = "x" }, "node": func(a *notes.About) { a.Node = "x" }, "repositories": func(a *notes.About) { a.Repositories = nil },
	} {
		other := about("c1:a")
		change(&other)
		if _, ok, _ := s.Prior(ctx, other); ok {
			t.Errorf("another %s finds the review", name)
		}
	}
	if list, err := s.List(ctx, notes.Project); len(list) != 0 || err != nil {
		t.Errorf("reviews are notes: %v, %v", list, err)
	}
	all, err := os.ReadDir(filepath.Join(c.Project, "reviews"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	if err := os.WriteFile(filepath.Join(c.Project, "reviews", all[0].Name()), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Prior(ctx, about("c1:a")); ok || !errors.Is(err, notes.ErrDamaged) {
		t.Errorf("damaged: %v, %v", ok, err)
	}
}

func TestReviewsAreTrimmed(t *testing.T) {
	t.Parallel()
	s, c := open(t)
	for i := range 50 {
		if err := s.Record(t.Context(), about(fmt.Sprint(i)), notes.Review{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadDir(filepath.Join(c.Project, "reviews"))
	if err != nil || len(all) > 20 || len(all) < 15 {
		t.Errorf("%d reviews, %v", len(all), err)
	}
}

// TestTwoWriters lets several stores write the same names; every file that is
// ever seen is whole.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	_, c := open(t)
	var group sync.WaitGroup
	added := make(chan int, 4)
	for who := range 4 {
		group.Go(func() {
			s, err := notes.Open(c)
			if err != nil {
				t.Error(err)
				return
			}
			n := lesson("one")
			n.Text = strings.Repeat(fmt.Sprint(who), 3000)
			if s.Add(t.Context(), n) == nil {
				added <- who
			}
			for range 20 {
				if err := s.Replace(t.Context(), n); err != nil {
					t.Error(err)
				}
				got, err := s.Get(t.Context(), notes.Project, "one")
				if err != nil || strings.Trim(got.Text, got.Text[:1]) != "" || len(got.Text) != 3000 {
					t.Errorf("%d bytes, %v", len(got.Text), err)
				}
				if err := s.Record(t.Context(), about("x"), notes.Review{Text: n.Text}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if len(added) != 1 {
		t.Errorf("%d added the note", len(added))
	}
}

func TestUnusableDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := notes.Open(notes.Config{Project: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), lesson("a")); err == nil {
		t.Error("added")
	}
	if err := s.Record(t.Context(), about("a"), notes.Review{}); err == nil {
		t.Error("recorded")
	}
	if _, ok, err := s.Prior(t.Context(), about("a")); ok || err == nil {
		t.Errorf("found in a file: %v, %v", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Add(ctx, lesson("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, now := range []string{"first\n\xff", "second"} {
		got, err := notes.Frozen(filepath.Join(dir, "prior"), func() string { return now })
		if err != nil || got != "first\n\xff" {
			t.Errorf("%q, %v", got, err)
		}
	}
	asked := false
	if got, err := notes.Frozen(filepath.Join(dir, "none", "prior"), func() string { asked = true; return "x" }); err == nil || got != "" || !asked {
		t.Errorf("%q, %v", got, err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	list := []notes.Note{lesson("a"), lesson("b"), lesson("c")}
	if got := notes.Text(list, 1000); strings.Count(got, "[project lesson]") != 3 || strings.Contains(got, "left out") {
		t.Errorf("all: %q", got)
	}
	if got := notes.Text(list, 100); strings.Count(got, "[project lesson]") != 1 || !strings.HasSuffix(got, "(2 more are left out)\n") || len([]rune(got)) > 100 {
		t.Errorf("some: %q", got)
	}
	if got := notes.Text(list, 3); got != "" {
		t.Errorf("no room: %q", got)
	}
}

func FuzzNote(f *testing.F) {
	f.Add("a text\n---\nkind: x", "lesson")
	f.Add("---\n---\n", "pattern")
	f.Add("\r\n\x00\xff---", "preference")
	dir := f.TempDir()
	s, err := notes.Open(notes.Config{Project: dir})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, kind string) {
		n := notes.Note{Scope: notes.Project, Kind: notes.Kind(kind), Slug: "x", Text: body}
		defer s.Remove(t.Context(), notes.Project, "x") //nolint:errcheck // there may be none
		if s.Add(t.Context(), n) != nil {
			return
		}
		once, err := s.Get(t.Context(), notes.Project, "x")
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if err := s.Replace(t.Context(), once); err != nil {
			t.Fatal(err)
		}
		if twice, err := s.Get(t.Context(), notes.Project, "x"); err != nil || twice != once {
			t.Errorf("%q: %q is read back as %q, %v", body, once.Text, twice.Text, err)
		}
	})
}
