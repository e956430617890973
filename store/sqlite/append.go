package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite/entry"
	"github.com/tenonrun/tenon/workflow"
)

// tail is what the next Append of a run must know. The writer remembers it
// while no other process writes.
type tail struct {
	key    int64
	parent workflow.RunID
	cut    int64
	epoch  int64
	last   int64
	sum    store.Sum
	row    int64    // id of its last row in the log
	rows   int64    // of its last span
	asked  []string // open questions, nil when they are not known
}

// batch is one Append on its way.
type batch struct {
	store.Append
	records []store.Record
	tail    *tail // nil: the run is to be created
	parent  *tail // of a fork to be created
}

// Append writes one batch, or nothing.
func (s *Store) Append(ctx context.Context, a store.Append) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := a.Check(); err != nil {
		return err
	}
	records, err := store.Encode(a.Events)
	if err != nil {
		return err
	}
	if err := store.CheckSize(a.Run, records); err != nil {
		return err
	}
	for _, b := range a.Blobs {
		if len(b.Data) > inlineBlob {
			if err := s.keepFile(b); err != nil {
				return s.fault("writing", err)
			}
		}
	}
	return s.await(ctx, &batch{Append: a, records: records})
}

// quick reports whether the batch is one row of the log and nothing else, and
// follows from what is remembered: the row is then a transaction by itself.
func (b *batch) quick(w *writer) bool {
	t := w.tails[string(b.Run)]
	if t == nil || b.Create != nil || b.Head != nil || b.Snapshot != nil || len(b.Blobs) > 0 || len(b.Taken) > 0 {
		return false
	}
	b.tail = t
	return b.Epoch == t.epoch && b.After == t.last && t.reaches(w.log.next) && len(b.records) > 0 && entry.Fits(b.records) == len(b.records)
}

// check refuses what does not follow from the run as it stands.
func (b *batch) check(w *writer) error {
	b.parent = nil
	var err error
	if b.tail, err = w.tail(b.Run); err != nil {
		return err
	}
	t := b.tail
	switch {
	case b.Create != nil && t != nil:
		return store.RunExists(b.Run)
	case b.Create != nil && b.Create.Parent != "":
		if b.parent, err = w.tail(b.Create.Parent); err != nil {
			return err
		}
		if b.parent == nil {
			return store.NoRun(b.Create.Parent)
		}
		if b.Create.Cut > b.parent.last {
			return store.NoCut(b.Create.Parent, b.Create.Cut, b.parent.last)
		}
	case b.Create != nil:
	case t == nil:
		return store.NoRun(b.Run)
	case b.Epoch < t.epoch:
		return store.StaleEpoch(b.Run, b.Epoch, t.epoch)
	case b.After != t.last:
		return store.StaleAfter(b.Run, b.After, t.last)
	}
	return b.checkTaken(w)
}

func (b *batch) checkTaken(w *writer) error {
	for i, id := range b.Taken {
		if b.tail == nil || slices.Contains(b.Taken[:i], id) {
			return store.NoControl(b.Run, id)
		}
		row, err := w.conn.row("SELECT 1 FROM controls WHERE run = ? AND control = ? AND taken IS NULL", b.tail.key, id)
		if err != nil {
			return err
		}
		if row == nil {
			return store.NoControl(b.Run, id)
		}
	}
	return nil
}

// tail returns the tail of a run; nil when there is no such run.
func (w *writer) tail(run workflow.RunID) (*tail, error) {
	if t := w.tails[string(run)]; t != nil {
		return t, nil
	}
	row, err := w.conn.row("SELECT r.key, r.cut, r.epoch, r.base, p.run FROM runs r LEFT JOIN runs p ON p.key = r.parent WHERE r.run = ?", string(run))
	if err != nil || row == nil {
		return nil, err
	}
	t := &tail{}
	var parent string
	if err := scan(row, &t.key, &t.cut, &t.epoch, &t.sum, &parent); err != nil {
		return nil, err
	}
	t.parent, t.last = workflow.RunID(parent), t.cut
	if err := t.find(run, w.conn.each); err != nil {
		return nil, err
	}
	w.tails[string(run)] = t
	return t, nil
}

// find looks where the history of a run ends.
func (t *tail) find(run workflow.RunID, ask lookup) error {
	e, err := ask.end(t.key)
	if err != nil || e.last == 0 {
		return err
	}
	sum, ok, err := ask.sum(t.key, e.last)
	if err == nil && (e.lost || !ok) {
		err = &store.Damaged{Run: run, Seq: e.last, LastGood: e.last - 1, Why: "the event is missing"}
	}
	t.last, t.sum, t.row, t.rows = e.last, sum, e.id, e.rows
	return err
}

func sumOf(raw []byte) store.Sum {
	var s store.Sum
	copy(s[:], raw)
	return s
}

// apply writes the batch.
func (b *batch) apply(w *writer) error {
	if b.tail == nil {
		if err := b.create(w); err != nil {
			return err
		}
	}
	t := b.tail
	sum := store.SealAll(t.sum, b.records)
	if err := w.log.append(w.conn, t, b.records); err != nil {
		return err
	}
	t.last, t.sum = b.After+int64(len(b.records)), sum
	if t.epoch != b.Epoch {
		t.epoch = b.Epoch
		if err := w.conn.exec("UPDATE runs SET epoch = ? WHERE key = ?", b.Epoch, t.key); err != nil {
			return err
		}
	}
	if b.Head != nil {
		if err := w.head(t, b.Head.Complete(b.Run, t.parent, t.cut)); err != nil {
			return err
		}
	}
	return b.rest(w)
}

func (b *batch) rest(w *writer) error {
	t := b.tail
	for _, x := range b.Blobs {
		if err := w.blob(t.key, x); err != nil {
			return err
		}
	}
	if s := b.Snapshot; s != nil {
		sum := sha256.Sum256(s.State)
		if err := w.conn.exec("INSERT OR REPLACE INTO snapshots (run, seq, sum, state) VALUES (?, ?, ?, ?)", t.key, s.Seq, sum[:], bytesOf(s.State)); err != nil {
			return err
		}
	}
	for _, id := range b.Taken {
		if err := w.conn.exec("UPDATE controls SET taken = ? WHERE run = ? AND control = ?", t.last, t.key, id); err != nil {
			return err
		}
	}
	return nil
}

// create makes the row of a new run.
func (b *batch) create(w *writer) error {
	t := &tail{epoch: b.Epoch, cut: b.Create.Cut, last: b.Create.Cut, sum: store.Origin(b.Run), asked: []string{}}
	var parent any
	if b.parent != nil {
		t.parent = b.Create.Parent
		parent = b.parent.key
		var err error
		if t.sum, err = w.sumAt(b.Create.Parent, b.parent.key, t.cut); err != nil {
			return err
		}
	}
	head := store.Head{}.Complete(b.Run, t.parent, t.cut)
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	t.key, err = w.conn.insert("INSERT INTO runs (run, parent, cut, base, epoch, root, fork_of, head) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		string(b.Run), parent, t.cut, t.sum[:], t.epoch, string(head.Root), string(head.ForkOf), string(raw))
	if err != nil {
		return err
	}
	b.tail = t
	w.tails[string(b.Run)] = t
	return nil
}

// sumAt returns the sum of an event of a run or of its parents.
func (w *writer) sumAt(run workflow.RunID, key, seq int64) (store.Sum, error) {
	var sum store.Sum
	for range maxParents {
		row, err := w.conn.row("SELECT cut, parent FROM runs WHERE key = ?", key)
		if err != nil {
			return sum, err
		}
		if row == nil {
			break
		}
		var cut, parent int64
		if err := scan(row, &cut, &parent); err != nil {
			return sum, err
		}
		if seq <= cut {
			key = parent
			continue
		}
		sum, ok, err := lookup(w.conn.each).sum(key, seq)
		if err != nil || ok {
			return sum, err
		}
		break
	}
	return sum, &store.Damaged{Run: run, Seq: seq, LastGood: seq - 1, Why: "the event is missing"}
}

// head replaces the index row of a run.
func (w *writer) head(t *tail, h store.Head) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := w.conn.exec("UPDATE runs SET status = ?, started = ?, updated = ?, root = ?, child_of = ?, head = ? WHERE key = ?",
		string(h.Status), int64(h.Started), int64(h.Updated), string(h.Root), string(h.ChildOf), string(raw), t.key); err != nil {
		return err
	}
	if t.asked != nil && slices.Equal(t.asked, h.Questions) {
		return nil
	}
	if err := w.conn.exec("DELETE FROM questions WHERE run = ?", t.key); err != nil {
		return err
	}
	for _, q := range h.Questions {
		if err := w.conn.exec("INSERT OR IGNORE INTO questions (question, run) VALUES (?, ?)", q, t.key); err != nil {
			return err
		}
	}
	t.asked = append([]string{}, h.Questions...)
	return nil
}

// bytesOf returns raw, or an empty text that is not NULL.
func bytesOf(raw []byte) []byte {
	if raw == nil {
		return []byte{}
	}
	return raw
}
