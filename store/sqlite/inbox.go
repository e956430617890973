package sqlite

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Post leaves a message for the owner of a run.
func (s *Store) Post(ctx context.Context, c store.Control) error {
	if err := c.Check(); err != nil {
		return err
	}
	var key int64
	var there bool
	check := func(w *writer) error {
		t, err := w.tail(c.Run)
		if err != nil {
			return err
		}
		if t == nil {
			return store.NoRun(c.Run)
		}
		key = t.key
		there, err = w.posted(key, c)
		return err
	}
	return s.do(ctx, check, func(w *writer) error {
		if there {
			return nil
		}
		return w.conn.exec("INSERT INTO controls (run, control, kind, data, by, at) VALUES (?, ?, ?, ?, ?, ?)",
			key, c.ID, c.Kind, bytesOf(c.Data), c.By, int64(c.At))
	})
}

// posted reports whether the same control is there; another one under its ID, or
// a full inbox, is an error.
func (w *writer) posted(key int64, c store.Control) (bool, error) {
	row, err := w.conn.row("SELECT kind, data FROM controls WHERE run = ? AND control = ?", key, c.ID)
	if err != nil {
		return false, err
	}
	if row != nil {
		var kind string
		var data []byte
		if err := scan(row, &kind, &data); err != nil {
			return false, err
		}
		if have := (store.Control{Kind: kind, Data: data}); !have.Same(c) {
			return false, store.Conflict(c)
		}
		return true, nil
	}
	if row, err = w.conn.row("SELECT count(*) FROM controls WHERE run = ? AND taken IS NULL", key); err != nil {
		return false, err
	}
	var waiting int64
	if err := scan(row, &waiting); err != nil {
		return false, err
	}
	if waiting >= store.MaxInbox {
		return false, store.InboxFull(c.Run)
	}
	return false, nil
}

// Inbox returns the messages that wait, oldest first.
func (s *Store) Inbox(ctx context.Context, run workflow.RunID) (out []store.Control, err error) {
	rows, err := s.query(ctx, `SELECT c.control, c.kind, c.data, c.by, c.at FROM runs r
		LEFT JOIN controls c ON c.run = r.key AND c.taken IS NULL WHERE r.run = ? ORDER BY c.id`, string(run))
	if err != nil {
		return nil, s.fault("reading", err)
	}
	defer func() { err = errors.Join(err, s.fault("reading", rows.Close())) }()
	found := false
	for rows.Next() {
		found = true
		var id, kind, by *string
		var data []byte
		var at *int64
		if err := rows.Scan(&id, &kind, &data, &by, &at); err != nil {
			return nil, s.fault("reading", err)
		}
		if id == nil {
			continue // the run is there and nothing waits
		}
		c := store.Control{ID: *id, Run: run, Kind: *kind, By: *by, At: workflow.Time(*at)}
		if len(data) > 0 {
			c.Data = json.RawMessage(data)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		return nil, s.fault("reading", err)
	}
	if !found {
		return nil, store.NoRun(run)
	}
	return out, nil
}
