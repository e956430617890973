package storetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tenonrun/tenon/script/store"
)

// disk is a store in a temporary directory of its own.
type disk struct {
	top, store string
}

func newDisk(t *testing.T) disk {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return disk{top: top, store: filepath.Join(top, "store")}
}

var placeholder = regexp.MustCompile(`\$STORE|\$PART(NAME)?\(([^)]*)\)`)

// expand puts real places in the place of $STORE, $PART(scope) and $PARTNAME(scope).
func (d disk) expand(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string {
		parts := placeholder.FindStringSubmatch(m)
		switch {
		case m == "$STORE":
			return d.store
		case parts[1] == "NAME":
			return store.Partition(parts[2])
		}
		return filepath.Join(d.store, store.Partition(parts[2]))
	})
}

func (d disk) make(t *testing.T, tree []entry) {
	t.Helper()
	for _, e := range tree {
		path := filepath.Clean(d.expand(e.Path))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			switch e.Kind {
			case "dir":
				err = os.MkdirAll(path, 0o700)
			case "file":
				err = os.WriteFile(path, []byte(e.Content), 0o600)
			case "symlink":
				err = os.Symlink(d.expand(e.Target), path)
			default:
				err = fmt.Errorf("unknown kind %q", e.Kind)
			}
		}
		if err != nil {
			t.Fatalf("making %s: %v", path, err)
		}
	}
}

// snapshot maps every file and link below the directory to its content.
func (d disk) snapshot(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(d.top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case e.Type()&fs.ModeSymlink != 0:
			found[path], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mode(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	return fmt.Sprintf("%04o", info.Mode().Perm())
}
