package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/script/store"
)

func open(t *testing.T, dir string) *store.Files {
	t.Helper()
	files, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

func TestFilesRoundTrip(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(t.TempDir(), "link")); err != nil {
		t.Fatal(err)
	}
	files := open(t, filepath.Join(dir, "scripts"))
	for _, script := range []string{"return 1", "", strings.Repeat("x", store.MaxScript)} {
		path, err := files.Persist(ctx, "run-1", script, "session")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := files.Load(ctx, path, "session"); err != nil || got != script {
			t.Errorf("loaded %d bytes, %v, want %d", len(got), err, len(script))
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "scripts", store.Partition("session")))
	if err != nil || len(entries) != 1 {
		t.Errorf("the partition holds %v, %v, want one file", entries, err)
	}
	if _, err := files.Persist(ctx, "run-1", strings.Repeat("x", store.MaxScript+1), "session"); code(err) != store.CodeTooLarge {
		t.Errorf("a script that is too long: %v", err)
	}
}

// TestFilesBehindLink opens a store whose directory is reached through a link: paths
// are good in both spellings.
func TestFilesBehindLink(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	files := open(t, link)
	path, err := files.Persist(ctx, "r", "A", "s")
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, canonical} {
		if got, err := files.Load(ctx, p, "s"); err != nil || got != "A" {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
}

// TestRefusalsSayNothing compares the texts of refusals: what is there must not
// show.
func TestRefusalsSayNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	files := open(t, dir)
	other, err := files.Persist(ctx, "r", "secret", "other")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := files.Persist(ctx, "r", "x", "mine")
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Dir(mine)
	for link, target := range map[string]string{"link.js": other, "gone.js": filepath.Join(dir, "nowhere")} {
		if err := os.Symlink(target, filepath.Join(part, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(part, "dir.js"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "saved.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for _, path := range []string{
		other, filepath.Join(dir, "saved.js"), "/etc/passwd", "/nowhere.js", part, part + "x/r.js",
		filepath.Join(part, "link.js"), filepath.Join(part, "gone.js"), filepath.Join(part, "dir.js"),
		filepath.Join(part, "deep", "r.js"), part + "/.r.js.0", part + "/r.js\x00",
	} {
		got, err := files.Load(ctx, path, "mine")
		if got != "" || code(err) != store.CodeRefused {
			t.Errorf("%q: %q, %v, want a refusal", path, got, err)
			continue
		}
		texts[err.Error()] = true
	}
	if len(texts) != 1 {
		t.Errorf("refusals differ: %v", texts)
	}
	if _, err := files.Load(ctx, filepath.Join(part, "none.js"), "mine"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing script: %v", err)
	}
}

func TestPersistRefusesLinks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir, outside := t.TempDir(), t.TempDir()
	files := open(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, store.Partition("planted"))); err != nil {
		t.Fatal(err)
	}
	if path, err := files.Persist(ctx, "r", "x", "planted"); err == nil {
		t.Errorf("wrote %s through a linked partition", path)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside holds %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(outside, "saved.js"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "saved.js"), filepath.Join(dir, "saved.js")); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := files.ResolveName(ctx, "saved"); ok || err != nil {
		t.Errorf("a linked name resolves: %t, %v", ok, err)
	}
}

func TestPersistConcurrently(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	files := open(t, t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			path, err := files.Persist(ctx, "r", "same", "s")
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := files.Load(ctx, path, "s"); err != nil || got != "same" {
				t.Errorf("loaded %q, %v", got, err)
			}
		})
	}
	all.Wait()
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	files := open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "discussion.js"), []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := store.Source{Store: files, Builtins: map[string]string{"discussion": "theirs"}}
	kept, err := store.Prepare(ctx, from, store.Call{Name: "discussion", Args: json.RawMessage(`"T"`), Run: "r1", Scope: "s"})
	if err != nil || kept.Script != "ours" || string(kept.Args) != `"T"` || kept.Warning != "" {
		t.Fatalf("got %+v, %v", kept, err)
	}
	again, err := store.Prepare(ctx, from, store.Call{ScriptPath: kept.Path, Script: "other", Name: "none", Run: "r2", Scope: "s"})
	if err != nil || again.Script != "ours" || again.Path == kept.Path {
		t.Errorf("by path: %+v, %v", again, err)
	}
	bad, err := store.Prepare(ctx, from, store.Call{Script: "x", Run: "../r"})
	if err != nil || bad.Script != "x" || bad.Path != "" || bad.Warning == "" {
		t.Errorf("a run id that is no name: %+v, %v", bad, err)
	}
	for want, call := range map[store.Code]store.Call{
		store.CodeNothingNamed: {},
		store.CodeUnknownName:  {Name: "none"},
		store.CodeRefused:      {ScriptPath: "/etc/passwd"},
	} {
		if _, err := store.Prepare(ctx, from, call); code(err) != want {
			t.Errorf("%+v: %v, want %s", call, err, want)
		}
	}
	if _, err := store.Prepare(ctx, store.Source{Builtins: from.Builtins}, store.Call{Name: "discussion"}); err != nil {
		t.Errorf("a built-in without a store: %v", err)
	}
}

func code(err error) store.Code {
	var own *store.Error
	if errors.As(err, &own) {
		return own.Code
	}
	return ""
}

func TestAdapt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	keep := func(context.Context, string, string, string) (string, error) { return "", nil }
	load := func(context.Context, string, string) (string, error) { return "", nil }
	if _, err := store.Adapt(store.Foreign{ScopePartitioned: true, LoadScript: load}); code(err) != store.CodeNotPartitioned {
		t.Errorf("a store without persist: %v", err)
	}
	for answer, want := range map[string]store.Code{`"s"`: store.CodeMigration, `{"defaultArgs":{}}`: store.CodeMigration, `{"script":"s"}`: ""} {
		adapted, err := store.Adapt(store.Foreign{
			ScopePartitioned: true, PersistScript: keep, LoadScript: load,
			Resolve: func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(answer), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := adapted.(store.Resolver).ResolveName(ctx, "n"); code(err) != want {
			t.Errorf("%s: %v, want code %q", answer, err, want)
		}
	}
}

func TestMergeKeepsOrder(t *testing.T) {
	t.Parallel()
	got, err := store.Merge(json.RawMessage(`{"z": 1, "a": {"<": 2}}`), json.RawMessage(`{"b":1,"a":2}`))
	if want := `{"b":1,"a":{"<": 2},"z":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := store.Merge(json.RawMessage(`{"a":1} x`), json.RawMessage(`{}`)); err == nil {
		t.Error("text that is not JSON was merged")
	}
}

// TestMergeShares checks that a later change of the defaults cannot reach the result.
func TestMergeShares(t *testing.T) {
	t.Parallel()
	defaults := json.RawMessage(`{"a":1}`)
	for _, call := range []json.RawMessage{nil, json.RawMessage(`{"b":2}`)} {
		got, err := store.Merge(call, defaults)
		if err != nil {
			t.Fatal(err)
		}
		before := string(got)
		defaults[5] = '9'
		if string(got) != before {
			t.Errorf("the result changed from %s to %s", before, got)
		}
		defaults[5] = '1'
	}
}

// TestPartitionIsOneSegment checks that a scope never becomes a path or a name.
func TestPartitionIsOneSegment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := store.Partition(rapid.String().Draw(t, "scope"))
		if !store.IsName(name) || strings.ToLower(name) != name || strings.HasSuffix(name, ".js") {
			t.Fatalf("partition %q", name)
		}
	})
}

// FuzzLoad looks for a path that leads out of the partition.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	files, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = files.Close() })
	ctx := context.Background()
	mine, err := files.Persist(ctx, "r", "mine", "a")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := files.Persist(ctx, "r", "other", "b"); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"/r.js", "/../" + store.Partition("b") + "/r.js", "/../../x.js", "//r.js", "/./r.js", "/r.js/", "/R.JS", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		if got, err := files.Load(ctx, filepath.Dir(mine)+tail, "a"); err == nil && got != "mine" {
			t.Errorf("%q gave %q", tail, got)
		}
	})
}

// TestSweep: scripts of runs that are gone go, nothing else does, and links are
// left alone.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, _, err := f.Sweep("s", false, func(string, time.Time) bool { return true }); n != 0 || err != nil {
		t.Fatalf("without a partition: %d, %v", n, err)
	}
	paths := map[string]string{}
	for _, run := range []string{"r1", "r2", "r3"} {
		if paths[run], err = f.Persist(t.Context(), run, "return 1", "s"); err != nil {
			t.Fatal(err)
		}
	}
	other, err := f.Persist(t.Context(), "r1", "return 2", "other")
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Dir(paths["r1"])
	if err := os.WriteFile(filepath.Join(part, ".r1.js.7"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(part, "r9.js")); err != nil {
		t.Fatal(err)
	}
	gone := func(run string, at time.Time) bool { return run != "r2" && !at.IsZero() }
	for _, dry := range []bool{true, false} {
		n, bytes, err := f.Sweep("s", dry, gone)
		if n != 3 || bytes != 20 || err != nil {
			t.Errorf("dry %v: %d files, %d bytes, %v", dry, n, bytes, err)
		}
	}
	left, err := os.ReadDir(part)
	if err != nil || len(left) != 2 || left[0].Name() != "r2.js" || left[1].Name() != "r9.js" {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}
