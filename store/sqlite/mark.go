package sqlite

import (
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// marks say how far a pass over the tables has come, as rowids.
type marks struct{ log, snapshots, blobs int64 }

// chunk is how many rows are looked at, at once.
const chunk = 512

// mark finds the spare blobs that runs lead to which stay: through events,
// snapshots, heads, and through the texts of other blobs. It looks at the rows
// after the marks, and at every head.
func (c *collection) mark(conn *conn, from marks) (marks, error) {
	to := from
	for _, table := range []struct {
		text string
		mark *int64
	}{
		{"SELECT id, run, data FROM log WHERE id > ? ORDER BY id LIMIT ?", &to.log},
		{"SELECT rowid, run, state FROM snapshots WHERE rowid > ? ORDER BY rowid LIMIT ?", &to.snapshots},
	} {
		if err := c.markRows(conn, table.text, table.mark); err != nil {
			return to, err
		}
	}
	err := conn.each("SELECT key, head FROM runs", nil, func(row []driver.Value) error {
		var key int64
		var head string
		if err := scan(row, &key, &head); err != nil || c.dry && c.gone[key] {
			return err
		}
		return c.use(conn, []byte(head))
	})
	if err != nil {
		return to, err
	}
	return to, c.markBlobs(conn, &to.blobs)
}

func (c *collection) markRows(conn *conn, text string, mark *int64) error {
	for {
		n := 0
		err := conn.each(text, []any{*mark, int64(chunk)}, func(row []driver.Value) error {
			n++
			var key int64
			var data []byte
			if err := scan(row, mark, &key, &data); err != nil || c.dry && c.gone[key] {
				return err
			}
			return c.use(conn, data)
		})
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil || n < chunk {
			return err
		}
	}
}

// markBlobs looks into the blobs that stay in any case.
func (c *collection) markBlobs(conn *conn, mark *int64) error {
	for {
		var found []workflow.Digest
		err := conn.each("SELECT id, digest FROM blobs WHERE id > ? ORDER BY id LIMIT ?", []any{*mark, int64(chunk)}, func(row []driver.Value) error {
			var digest []byte
			err := scan(row, mark, &digest)
			found = append(found, workflow.Digest(hex.EncodeToString(digest)))
			return err
		})
		if err != nil {
			return err
		}
		for _, d := range found {
			if c.spare[d] == nil {
				if err := c.look(conn, d); err != nil {
					return err
				}
			}
		}
		if len(found) < chunk {
			return c.ctx.Err()
		}
	}
}

// use marks the spare blobs that a text names, and what those lead to.
func (c *collection) use(conn *conn, text []byte) error {
	var found []workflow.Digest
	store.Digests(text, func(d workflow.Digest) {
		if b := c.spare[d]; b != nil && !b.used {
			b.used = true
			found = append(found, d)
		}
	})
	for _, d := range found {
		if err := c.look(conn, d); err != nil {
			return err
		}
	}
	return nil
}

// look uses the text of a blob. One that cannot be read leads nowhere.
func (c *collection) look(conn *conn, d workflow.Digest) error {
	digest, err := hex.DecodeString(string(d))
	if err != nil {
		return err
	}
	row, err := conn.row("SELECT data FROM blobs WHERE digest = ?", digest)
	if err != nil || row == nil {
		return err
	}
	data, ok := row[0].([]byte)
	if !ok {
		data, err = os.ReadFile(c.blobPath(d))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return c.use(conn, data)
}

// strays removes the files that no blob has: left by removed blobs and by
// processes that died before their transaction.
func (c *collection) strays(before time.Time) error {
	names, err := filepath.Glob(c.path("blobs", "??", "*"))
	if err != nil {
		return err
	}
	temps, err := filepath.Glob(c.path("blobs", "??", ".new-*"))
	if err != nil {
		return err
	}
	for _, name := range temps {
		info, err := os.Stat(name)
		if err == nil && info.ModTime().Before(before) {
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") })
	for part := range slices.Chunk(names, 256) {
		ask := func(w *writer) error { return w.strays(part) }
		if err := c.do(c.ctx, ask, func(*writer) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// strays removes those of the files that have no row. Inside the transaction no
// row can come, and an Append that wrote the file looks again before its own.
func (w *writer) strays(names []string) error {
	for _, name := range names {
		digest, err := hex.DecodeString(filepath.Base(name))
		if err != nil {
			continue // not ours
		}
		row, err := w.conn.row("SELECT 1 FROM blobs WHERE digest = ? AND data IS NULL", digest)
		if err != nil {
			return err
		}
		if row == nil {
			if err := os.Remove(name); err != nil {
				return fmt.Errorf("removing a blob: %w", err)
			}
		}
	}
	return nil
}
