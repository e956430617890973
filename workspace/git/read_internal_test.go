package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error of a file that cannot be read is tested at the seam as well, because
// the super-user reads everything.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("secret", "1")
	k := b.candidate("")
	k.hash = func(ctx context.Context, r root, name string) (sum [sha256.Size]byte, s stamp, err error) {
		if name == "secret" {
			return sum, s, fs.ErrPermission
		}
		return hashFile(ctx, r, name)
	}
	_, err := k.Digest(t.Context())
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"repository repo", b.path("secret"), "make it readable"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestFileThatMoves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want, _ := b.check()
	moves := 3
	k := b.candidate("")
	k.hash = func(ctx context.Context, r root, name string) (sum [sha256.Size]byte, s stamp, err error) {
		if name == "untracked" && moves > 0 {
			moves--
			return sum, s, errMoved
		}
		return hashFile(ctx, r, name)
	}
	if got, err := k.Digest(t.Context()); err != nil || got != want {
		t.Errorf("a file that settles: %s, %v", got, err)
	}
	moves = 1000
	if _, err := k.Digest(t.Context()); !errors.Is(err, errMoved) || !strings.Contains(err.Error(), b.path("untracked")) {
		t.Errorf("a file that never settles: %v", err)
	}
}

// meddler is a context that does something each time a reader looks at it, which
// is before each piece of a file.
type meddler struct {
	context.Context
	do func() error
}

func (m meddler) Err() error { return m.do() }

func TestChangeWhileReading(t *testing.T) {
	t.Parallel()
	const name = "untracked"
	for label, edit := range map[string]func(b *bench) error{
		"grows":      func(b *bench) error { return os.WriteFile(b.path(name), make([]byte, 1<<20), 0o644) },
		"shrinks":    func(b *bench) error { return os.Truncate(b.path(name), 1) },
		"other mode": func(b *bench) error { return os.Chmod(b.path(name), 0o600) },
		"same size": func(b *bench) error {
			b.tick()
			return os.WriteFile(b.path(name), make([]byte, 1<<19), 0o644)
		},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.write(name, strings.Repeat("x", 1<<19))
			r, err := openRoot(b.dir)
			b.must(err)
			defer r.close()
			if _, _, err := hashFile(t.Context(), r, name); err != nil {
				t.Fatal(err)
			}
			edited := false
			ctx := meddler{t.Context(), func() error {
				if edited {
					return nil
				}
				edited = true
				return edit(b)
			}}
			if _, _, err := hashFile(ctx, r, name); !errors.Is(err, errMoved) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestHugeFileIsStreamedAndStops(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("huge", "")
	b.must(os.Truncate(b.path("huge"), 4<<30))
	r, err := openRoot(b.dir)
	b.must(err)
	defer r.close()
	pieces := 0
	ctx := meddler{t.Context(), func() error {
		if pieces++; pieces > 100 {
			return context.Canceled
		}
		return nil
	}}
	if _, _, err := hashFile(ctx, r, "huge"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNotAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(os.Symlink("untracked", b.path("link")))
	r, err := openRoot(b.dir)
	b.must(err)
	defer r.close()
	for _, name := range []string{"link", "dir0"} {
		if _, _, err := hashFile(t.Context(), r, name); !errors.Is(err, errMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := hashFile(t.Context(), r, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	if _, err := openRoot(b.path("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func TestRealDirs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755), os.MkdirAll(filepath.Join(dir, "ab", "c"), 0o755),
		os.Symlink("a", filepath.Join(dir, "link")), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := openRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	dirs := realDirs{root: r}
	for _, name := range []string{".", "a", "a/b/c", "a/b", "ab", "ab/c", "a/none", "a/none/x", "link", "link/b", "link/b/c", "a/b/c", "file", "file/x", "none", "."} {
		for range 2 {
			want := !strings.HasPrefix(name, "link") && !strings.HasPrefix(name, "file") && !strings.Contains(name, "none")
			if got := dirs.holds(name); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ a, b, want string }{
		{"", "", ""},
		{"", "a", ""},
		{"a", "a", "a"},
		{"a", "ab", ""},
		{"a/b", "a/b/c", "a/b"},
		{"a/b", "a/bc", "a"},
		{"a/b/c", "a/b/d", "a/b"},
		{"a-b", "a/b", ""},
	} {
		for _, pair := range [][2]string{{tc.a, tc.b}, {tc.b, tc.a}} {
			if got := pair[0][:shared(pair[0], pair[1])]; got != tc.want {
				t.Errorf("shared(%q, %q) = %q, want %q", pair[0], pair[1], got, tc.want)
			}
		}
	}
}
