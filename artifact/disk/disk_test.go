package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/artifacttest"
	"github.com/tenonrun/tenon/artifact/disk"
	"github.com/tenonrun/tenon/workflow"
)

func TestMain(m *testing.M) {
	if os.Getenv("ARTIFACT_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, c disk.Config) *disk.Collections {
	t.Helper()
	all, err := disk.Open(c)
	must(t, err)
	t.Cleanup(func() { must(t, all.Close()) })
	return all
}

func collection(t testing.TB, all artifact.Collections, name string) artifact.Collection {
	t.Helper()
	c, err := all.Open(t.Context(), name)
	must(t, err)
	return c
}

func put(t testing.TB, c artifact.Store, id, content string) artifact.Descriptor {
	t.Helper()
	r, err := c.Put(t.Context(), artifact.Draft{ID: id, Title: "T", Mime: "text/plain", Content: content})
	must(t, err)
	return r.Descriptor
}

func wantCode(t *testing.T, err error, code workflow.Code) {
	t.Helper()
	if err == nil || workflow.CodeOf(err) != code {
		t.Errorf("the error is %v, not one of %s", err, code)
	}
}

// texts are the contents of the versions of an artifact.
func texts(t testing.TB, c artifact.Store, id string) (out []string) {
	t.Helper()
	a, err := c.Get(t.Context(), id)
	if workflow.CodeOf(err) == workflow.CodeNotFound {
		return nil
	}
	must(t, err)
	for _, v := range a.Versions {
		_, content, err := c.Read(t.Context(), id, v.Version)
		must(t, err)
		out = append(out, content)
	}
	return out
}

func TestSuite(t *testing.T) {
	t.Parallel()
	limits := artifact.Limits{MaxBytes: artifacttest.MaxBytes}
	artifacttest.Run(t, func(t *testing.T) artifact.Collections {
		return open(t, disk.Config{Dir: filepath.Join(t.TempDir(), "collections"), Limits: limits})
	})
	artifacttest.Durable(t, func(t *testing.T, dir string) (artifact.Collections, func()) {
		all, err := disk.Open(disk.Config{Dir: dir, Limits: limits})
		must(t, err)
		return all, func() { must(t, all.Close()) }
	})
}

// TestTouchesNothing: reading makes no files, and a relative directory is refused.
func TestTouchesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := collection(t, open(t, disk.Config{Dir: dir}), "c")
	if l, err := c.List(t.Context()); len(l) > 0 || err != nil {
		t.Errorf("the list is %v (%v)", l, err)
	}
	wantCode(t, c.Delete(t.Context(), "a"), workflow.CodeNotFound)
	if _, err := disk.Open(disk.Config{Dir: "here"}); workflow.CodeOf(err) != workflow.CodeInvalidArguments {
		t.Errorf("the error is %v", err)
	}
}

// TestNames: names that differ only in case are apart on every file system, and
// what is not ours is not listed.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	want := []string{"A", "Ab-C.1", "a", "ab-c.1"}
	for _, name := range want {
		put(t, collection(t, all, name), "x", name)
	}
	for _, other := range []string{"nul", "a=", "=1", "X", ".y"} {
		must(t, os.MkdirAll(filepath.Join(dir, other), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, other, "log"), []byte("x\n"), 0o600))
	}
	names, err := all.Names(t.Context())
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("the names are %q (%v)", names, err)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	folded := map[string]bool{}
	for _, e := range entries {
		if e.Name() != "X" && folded[strings.ToLower(e.Name())] {
			t.Errorf("%s is there twice", e.Name())
		}
		folded[strings.ToLower(e.Name())] = true
	}
}

// TestDevice: a place has a name that it keeps, and that of the configuration wins.
func TestDevice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	device := func(c disk.Config) string {
		c.Dir = dir
		all := open(t, c)
		put(t, collection(t, all, "c"), "a", "x")
		a, err := collection(t, all, "c").Get(t.Context(), "a")
		must(t, err)
		if name, err := all.Device(); err != nil || name != a.Current().Device {
			t.Errorf("the device is %q (%v), not %q", name, err, a.Current().Device)
		}
		return a.Current().Device
	}
	one, two, three := device(disk.Config{}), device(disk.Config{}), device(disk.Config{Device: "mine"})
	if one == "" || one != two || three != "mine" {
		t.Errorf("the devices are %q, %q, %q", one, two, three)
	}
}

// TestTornTail: what a crash cut off is left out, removed before the next line,
// and the number is given again.
func TestTornTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	put(t, collection(t, all, "c"), "a", "one")
	put(t, collection(t, all, "c"), "a", "two")
	log := filepath.Join(dir, "c", "log")
	whole, err := os.ReadFile(log)
	must(t, err)
	first := bytes.IndexByte(whole, '\n') + 1
	for cut := first; cut < len(whole); cut += 9 {
		place := t.TempDir()
		must(t, os.CopyFS(place, os.DirFS(dir)))
		log := filepath.Join(place, "c", "log")
		must(t, os.Truncate(log, int64(cut)))
		all, err := disk.Open(disk.Config{Dir: place})
		must(t, err)
		c := collection(t, all, "c")
		if got := texts(t, c, "a"); !slices.Equal(got, []string{"one"}) {
			t.Fatalf("cut at %d: the texts are %q", cut, got)
		}
		if d := put(t, c, "a", "three"); d.Version != 2 {
			t.Fatalf("cut at %d: the next one is %+v", cut, d)
		}
		if n, damage, err := all.Check(t.Context()); n != 2 || len(damage) > 0 || err != nil {
			t.Fatalf("cut at %d: %d revisions, %v, %v", cut, n, damage, err)
		}
		must(t, all.Close())
	}
}

// TestDamage: a line that changed is left out and told, and the others count; a
// content that changed is told when it is read, and mended by the same text.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	for _, content := range []string{"one", "two", "three"} {
		put(t, collection(t, all, "c"), "a", content)
	}
	log := filepath.Join(dir, "c", "log")
	raw, err := os.ReadFile(log)
	must(t, err)
	must(t, os.WriteFile(log, bytes.Replace(raw, []byte(`"version":2`), []byte(`"version":7`), 1), 0o600))
	blob := filepath.Join(dir, ".blobs", artifact.Digest("three")[:2], artifact.Digest("three")[2:])
	must(t, os.WriteFile(blob, []byte("thr3e"), 0o600))

	again := open(t, disk.Config{Dir: dir})
	c := collection(t, again, "c")
	a, err := c.Get(t.Context(), "a")
	if must(t, err); len(a.Versions) != 2 || a.Current().Version != 3 {
		t.Errorf("it is %+v", a)
	}
	_, _, err = c.Read(t.Context(), "a", 3)
	wantCode(t, err, workflow.CodeStoreDamaged)
	n, damage, err := again.Check(t.Context())
	if n != 2 || len(damage) != 2 || err != nil {
		t.Errorf("%d revisions, %v, %v", n, damage, err)
	}
	_, err = again.Sweep(t.Context())
	wantCode(t, err, workflow.CodeStoreDamaged)
	put(t, c, "b", "three")
	if _, content, err := c.Read(t.Context(), "a", 3); content != "three" || err != nil {
		t.Errorf("the content is %q (%v)", content, err)
	}
	must(t, os.Remove(blob))
	_, _, err = c.Read(t.Context(), "a", 3)
	wantCode(t, err, workflow.CodeStoreDamaged)
}

// TestForeignLines: lines of another program, another format and another time are
// left out, duplicates count once, and the order does not matter.
func TestForeignLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	for _, content := range []string{"one", "two", "three"} {
		put(t, collection(t, all, "c"), "a", content)
	}
	log := filepath.Join(dir, "c", "log")
	raw, err := os.ReadFile(log)
	must(t, err)
	lines := bytes.SplitAfter(raw, []byte("\n"))[:3]
	slices.Reverse(lines)
	mixed := slices.Concat(lines[0], []byte("hello\n\n"), lines[1], lines[1],
		disk.Sealed(`{"format":2,"id":"x","seq":9}`), disk.Sealed(`[]`), disk.Sealed(`{"artifact":"../x","version":1}`),
		bytes.Repeat([]byte{0}, 3<<20), []byte("\n"), lines[2])
	must(t, os.WriteFile(log, mixed, 0o600))
	again := open(t, disk.Config{Dir: dir})
	c := collection(t, again, "c")
	if got := texts(t, c, "a"); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("the texts are %q", got)
	}
	_, damage, err := again.Check(t.Context())
	if len(damage) != 6 || err != nil {
		t.Errorf("the damage is %v (%v)", damage, err)
	}
	if d := put(t, c, "a", "four"); d.Version != 4 || d.Seq != 4 {
		t.Errorf("it goes on as %+v", d)
	}
}

// TestFull: a disk that fills up at any moment of a put loses nothing, and the next
// put succeeds.
func TestFull(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{false, true} {
		for step := 0; ; step++ {
			dir := t.TempDir()
			all := open(t, disk.Config{Dir: dir})
			c := collection(t, all, "c")
			put(t, c, "a", "one")
			content := "two"
			if same {
				content = "one"
			}
			steps, failed := 0, false
			all.Fail(func(name string, p []byte) error {
				steps++
				if steps-1 == step {
					failed = true
					return &fs.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
				}
				return nil
			})
			_, err := c.Put(t.Context(), artifact.Draft{ID: "a", Content: content})
			if !failed {
				must(t, err)
				if least := map[bool]int{false: 5, true: 2}[same]; step < least {
					t.Errorf("a put has %d steps", step)
				}
				break
			}
			wantCode(t, err, workflow.CodeStoreFull)
			if got := texts(t, c, "a"); !slices.Equal(got, []string{"one"}) {
				t.Fatalf("step %d: the texts are %q", step, got)
			}
			other := open(t, disk.Config{Dir: dir})
			if got := texts(t, collection(t, other, "c"), "a"); !slices.Equal(got, []string{"one"}) {
				t.Fatalf("step %d: another process sees %q", step, got)
			}
			if d := put(t, c, "a", "three"); d.Version != 2 {
				t.Fatalf("step %d: the next one is %+v", step, d)
			}
			if n, damage, err := other.Check(t.Context()); n != 2 || len(damage) > 0 || err != nil {
				t.Fatalf("step %d: %d revisions, %v, %v", step, n, damage, err)
			}
		}
	}
}

// TestFullPublication: a publication that cannot be kept did not happen.
func TestFullPublication(t *testing.T) {
	t.Parallel()
	all := open(t, disk.Config{Dir: t.TempDir()})
	c := collection(t, all, "c")
	put(t, c, "a", "one")
	all.Fail(func(string, []byte) error { return syscall.ENOSPC })
	_, err := c.Publish(t.Context(), "a", &artifact.Publication{URL: "u", Version: 1})
	wantCode(t, err, workflow.CodeStoreFull)
	if l, err := c.List(t.Context()); err != nil || l[0].Publication != nil {
		t.Errorf("it is out: %+v (%v)", l, err)
	}
}

// TestDamagedPublications: a record of publications that cannot be read is told,
// hides nothing else, and is replaced by the next one.
func TestDamagedPublications(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	c := collection(t, all, "c")
	put(t, c, "a", "one")
	publish := func() {
		_, err := c.Publish(t.Context(), "a", &artifact.Publication{URL: "u", Version: 1})
		must(t, err)
	}
	publish()
	must(t, os.WriteFile(filepath.Join(dir, "c", "publications.json"), []byte(`{"a":`), 0o600))
	if l, err := c.List(t.Context()); err != nil || len(l) != 1 || l[0].Publication != nil {
		t.Errorf("the list is %+v (%v)", l, err)
	}
	if _, damage, err := all.Check(t.Context()); len(damage) != 1 || err != nil {
		t.Errorf("the damage is %v (%v)", damage, err)
	}
	if _, err := all.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	publish()
	if _, damage, err := all.Check(t.Context()); len(damage) != 0 || err != nil {
		t.Errorf("the damage is %v (%v)", damage, err)
	}
}

// TestShared: equal contents are kept once, over collections.
func TestShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	for _, name := range []string{"one", "two"} {
		for range 3 {
			put(t, collection(t, all, name), "a", strings.Repeat("x", 10_000))
		}
	}
	if n, bytes := stored(t, dir); n != 1 || bytes != 10_000 {
		t.Errorf("%d contents of %d bytes are there", n, bytes)
	}
}

// stored counts the contents that are kept, and their bytes.
func stored(t testing.TB, dir string) (n int, bytes int64) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(dir, ".blobs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			must(t, err)
			n, bytes = n+1, bytes+info.Size()
		}
		return err
	}))
	return n, bytes
}

// TestSweep: a content goes when no revision names it and it is old.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	all := open(t, disk.Config{Dir: dir, Now: func() time.Time { return now }})
	if s, err := all.Sweep(t.Context()); err != nil || s.Contents != 0 {
		t.Errorf("nothing was swept: %+v (%v)", s, err)
	}
	put(t, collection(t, all, "c"), "a", "kept")
	put(t, collection(t, all, "c"), "b", "deleted")
	put(t, collection(t, all, "d"), "a", "kept")
	put(t, collection(t, all, "d"), "b", "removed")
	must(t, collection(t, all, "c").Delete(t.Context(), "b"))
	must(t, all.Remove(t.Context(), "d"))
	must(t, os.WriteFile(filepath.Join(dir, ".blobs", artifact.Digest("kept")[:2], ".new-x"), nil, 0o600))
	if s, err := all.Sweep(t.Context()); err != nil || s.Contents != 0 {
		t.Errorf("what is young was swept: %+v (%v)", s, err)
	}
	now = now.Add(2 * disk.Grace)
	if s, err := all.Sweep(t.Context()); err != nil || s.Contents != 3 || s.Bytes != int64(len("deletedremoved")) {
		t.Errorf("the sweep is %+v (%v)", s, err)
	}
	if got := texts(t, collection(t, all, "c"), "a"); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("the texts are %q", got)
	}
	if got := texts(t, collection(t, all, "d"), "a"); got != nil {
		t.Errorf("the removed collection has %q", got)
	}
	if d := put(t, collection(t, all, "d"), "a", "again"); d.Version != 1 {
		t.Errorf("the removed collection goes on as %+v", d)
	}
	if names, err := all.Names(t.Context()); err != nil || !slices.Equal(names, []string{"c", "d"}) {
		t.Errorf("the names are %q (%v)", names, err)
	}
}

// TestClosed: what is closed says so.
func TestClosed(t *testing.T) {
	t.Parallel()
	all, err := disk.Open(disk.Config{Dir: t.TempDir()})
	must(t, err)
	c := collection(t, all, "c")
	put(t, c, "a", "x")
	must(t, all.Close())
	must(t, all.Close())
	_, err = c.Put(t.Context(), artifact.Draft{ID: "a"})
	wantCode(t, err, workflow.CodeStoreUnavailable)
	_, err = c.List(t.Context())
	wantCode(t, err, workflow.CodeStoreUnavailable)
	if !strings.Contains(fmt.Sprint(err), "closed") || errors.Is(err, fs.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
}

// Any number of collections is read and written with a few open files.
func TestManyCollections(t *testing.T) {
	t.Parallel()
	c := open(t, disk.Config{Dir: t.TempDir()})
	const many = 300
	for round := range 2 {
		for i := range many {
			s, err := c.Open(t.Context(), fmt.Sprint("c", i))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Put(t.Context(), artifact.Draft{ID: "a", Title: "t", Mime: "text/plain", Content: fmt.Sprint(i)})
			if err != nil || r.Descriptor.Version != int64(round+1) {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	if n := disk.OpenFiles(c); n > 2*64 {
		t.Errorf("%d files are open", n)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range many {
				s, err := c.Open(t.Context(), fmt.Sprint("c", (i*7+w*50)%many))
				if err == nil {
					_, err = s.List(t.Context())
				}
				if err == nil && i%10 == 0 {
					_, err = s.Edit(t.Context(), artifact.Edit{Artifact: "a", Content: "x"})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := disk.OpenFiles(c); n > 2*(64+4) {
		t.Errorf("%d files are open", n)
	}
}
