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

	"github.com/tenonrun/tenon/workspace"
)

// The error of a file that cannot be read is tested at the seam, because the
// super-user reads everything.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := New(Config{Repositories: []workspace.Repository{{ID: "r1", Path: dir}}})
	if err != nil {
		t.Fatal(err)
	}
	k.hash = func(ctx context.Context, r root, name string) (sum [sha256.Size]byte, s stamp, err error) {
		if name == "secret" {
			return sum, s, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return hashFile(ctx, r, name)
	}
	_, err = k.Digest(t.Context())
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"r1", filepath.Join(dir, "secret"), "make it readable"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}
