package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// inlineBlob is the largest blob, in bytes, that stands in the database.
const inlineBlob = 64 << 10

func (s *Store) blobPath(d workflow.Digest) string {
	return s.path("blobs", string(d[:2]), string(d))
}

// keepFile writes the file of a big blob, unless it is there, and returns after
// the sync. A file appears under its name whole or not at all.
func (s *Store) keepFile(b store.Blob) error {
	name := s.blobPath(b.Digest)
	if info, err := os.Stat(name); err == nil && info.Size() == int64(len(b.Data)) {
		return nil
	}
	dir := filepath.Dir(name)
	made := os.Mkdir(dir, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b.Data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	if made == nil {
		return syncDir(s.path("blobs"))
	}
	return nil
}

// blob makes the row of a blob. The file of a big one may have been collected
// since it was written, so it is looked at again inside the transaction.
func (w *writer) blob(run int64, b store.Blob) error {
	digest, err := hex.DecodeString(string(b.Digest))
	if err != nil {
		return err
	}
	var data any
	if len(b.Data) > inlineBlob {
		if err := w.store.keepFile(b); err != nil {
			return err
		}
	} else {
		data = bytesOf(b.Data)
	}
	return w.conn.exec("INSERT INTO blobs (digest, size, run, data) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",
		digest, int64(len(b.Data)), run, data)
}

// Blob returns a stored text.
func (s *Store) Blob(ctx context.Context, d workflow.Digest) ([]byte, error) {
	digest, err := hex.DecodeString(string(d))
	if err != nil || len(digest) != 32 {
		return nil, store.NoBlob(d)
	}
	var data []byte
	var external bool
	err = s.row(ctx, "SELECT data, data IS NULL FROM blobs WHERE digest = ?", digest).Scan(&data, &external)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, store.NoBlob(d)
	case err != nil:
		return nil, s.fault("reading", err)
	}
	if external {
		data, err = os.ReadFile(s.blobPath(d))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, workflow.Errorf(workflow.CodeStoreDamaged, "blob %s is damaged: its file %s is gone", d, s.blobPath(d)).
				WithHint("restore the file from a backup, or run `tenon doctor` to see which runs use it")
		}
		if err != nil {
			return nil, s.fault("reading", fmt.Errorf("blob %s: %w", d, err))
		}
	}
	if store.DigestOf(data) != d {
		return nil, store.BadBlob(d)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}
