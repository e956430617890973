package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenonrun/tenon/internal/lock"
)

const (
	maxBatch   = 512                   // jobs of one transaction
	idlePages  = 500                   // WAL pages that are worth a checkpoint when nothing is to do
	idleWait   = 20 * time.Millisecond // how long nothing must be to do
	presizeWAL = 1050 * 4120           // bytes: beyond the automatic checkpoint, so that the WAL never grows
	maxTails   = 8192                  // runs whose last event is remembered
)

// work is what a job does in the writing transaction. check reads and may refuse;
// then nothing of the job has been written. An error of apply undoes the job.
// quick reports whether apply is one statement and needs no check.
type work interface {
	check(w *writer) error
	apply(w *writer) error
	quick(w *writer) bool
}

// job is work on its way.
type job struct {
	work
	err  error
	done chan error // nil: whoever handed it over wrote it
}

// steps is work of two functions.
type steps struct{ look, write func(*writer) error }

func (s steps) check(w *writer) error { return s.look(w) }
func (s steps) apply(w *writer) error { return s.write(w) }
func (s steps) quick(*writer) bool    { return false }

// writer writes the database, one transaction at a time. Jobs queue for its
// goroutine; a caller that finds nothing queued and nobody writing writes its own
// job, which spares a lone run two changes of goroutine per transaction.
type writer struct {
	store  *Store
	gate   *lock.Gate
	jobs   chan *job
	queued atomic.Int64  // jobs on their way to the goroutine, and in its batch
	grown  chan struct{} // the WAL is worth a checkpoint
	idle   <-chan time.Time
	done   chan struct{}

	mu      sync.Mutex // held by whoever writes; guards what follows
	conn    *conn      // nil after a failure, until the next batch
	tails   map[string]*tail
	log     logEnd
	version int64 // data_version for which tails and log hold
	pages   int   // pages written to the WAL since the last checkpoint
	sized   bool  // the WAL has its full size
	total   int   // pages written by this process
	wrote   time.Time
	watched bool // grown was said and not answered
}

func newWriter(s *Store, g *lock.Gate, c *conn) *writer {
	w := &writer{store: s, gate: g, conn: c, tails: make(map[string]*tail), version: -1,
		jobs: make(chan *job, maxBatch), grown: make(chan struct{}, 1), done: make(chan struct{})}
	if c != nil { // the database was just made or migrated; otherwise the first batch sees to it
		if err := w.room(); err != nil {
			s.log.Warn("giving the write-ahead log its size", "err", err)
		}
	}
	go w.loop()
	return w
}

// do hands a job over and waits for its end. Once it is handed over, the end of
// ctx does not matter any more: the answer is definite.
func (s *Store) do(ctx context.Context, check, apply func(*writer) error) error {
	return s.await(ctx, steps{check, apply})
}

func (s *Store) await(ctx context.Context, is work) error {
	j := &job{work: is}
	if err := s.enqueue(ctx, j); err != nil {
		return err
	}
	if j.done == nil {
		return j.err
	}
	return <-j.done
}

func (s *Store) enqueue(ctx context.Context, j *job) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w := s.write
	if w.queued.Load() == 0 && w.mu.TryLock() {
		defer w.mu.Unlock()
		w.write([]*job{j})
		return nil
	}
	j.done = make(chan error, 1)
	w.queued.Add(1)
	select {
	case w.jobs <- j:
		return nil
	case <-ctx.Done():
		w.queued.Add(-1)
		return ctx.Err()
	}
}

// loop writes batches until the queue is closed. A batch closes when the queue
// is empty: what comes while it syncs is the next one.
func (w *writer) loop() {
	defer close(w.done)
	batch := make([]*job, 0, maxBatch)
	for {
		j, ok := w.next()
		if !ok {
			return
		}
		w.mu.Lock()
		batch = w.fill(append(batch[:0], j))
		w.write(batch)
		w.mu.Unlock()
		w.queued.Add(-int64(len(batch)))
	}
}

// fill takes what is queued into a batch.
func (w *writer) fill(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// next waits for a job, and checkpoints when nothing is written for a while.
func (w *writer) next() (*job, bool) {
	for {
		select {
		case j, ok := <-w.jobs:
			return j, ok
		case <-w.grown:
			w.idle = time.After(idleWait)
		case <-w.idle:
			w.idle = w.rest()
		}
	}
}

// rest checkpoints when nothing was written for a while; otherwise it says when
// to look again.
func (w *writer) rest() <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if left := idleWait - time.Since(w.wrote); left > 0 && w.pages > idlePages {
		return time.After(left)
	}
	w.watched = false
	if w.pages > idlePages {
		w.checkpoint()
	}
	return nil
}

// write answers every job of a batch. When the batch fails as a whole, each job
// gets a transaction of its own, so that it fails for its own reasons only.
func (w *writer) write(batch []*job) {
	err := w.transact(batch)
	switch {
	case err == nil:
	case len(batch) == 1 || hopeless(err):
		for _, j := range batch {
			j.err = err
		}
	default:
		for i := range batch {
			if err := w.transact(batch[i : i+1]); err != nil {
				batch[i].err = err
			}
		}
	}
	for i, j := range batch {
		if j.err = w.store.fault("writing", j.err); j.done != nil {
			j.done <- j.err
		}
		batch[i] = nil
	}
}

// transact runs the jobs in one transaction. Its error means that nothing was
// written; without one, a job that was refused has its err set.
func (w *writer) transact(batch []*job) error {
	if err := w.gate.Lock(); err != nil {
		return err
	}
	defer w.gate.Unlock()
	if j := batch[0]; len(batch) == 1 && w.fresh() && j.quick(w) {
		j.err = nil // of a transaction that was undone
		if err := j.apply(w); err != nil {
			return w.undo(err)
		}
		w.count()
		return nil
	}
	if err := w.begin(); err != nil {
		return w.undo(err)
	}
	for _, j := range batch {
		if j.err = j.check(w); j.err != nil {
			continue
		}
		if err := j.apply(w); err != nil {
			return w.undo(err)
		}
	}
	if err := w.conn.exec("COMMIT"); err != nil {
		return w.undo(err)
	}
	w.count()
	return nil
}

// fresh reports whether what is remembered of the database holds without a look
// into it: this writer wrote last.
func (w *writer) fresh() bool {
	return w.gate.Again() && w.conn != nil && w.sized && w.version >= 0
}

// begin opens the transaction. When another process has written since the last
// one, what is remembered of the runs is forgotten.
func (w *writer) begin() error {
	if w.conn == nil {
		c, err := w.store.connect(context.Background())
		if err != nil {
			return err
		}
		w.conn, w.version, w.sized = c, -1, false
	}
	if !w.sized {
		if err := w.presize(); err != nil {
			return err
		}
	}
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	row, err := w.conn.row("PRAGMA data_version")
	if err != nil {
		return err
	}
	var version int64
	if err := scan(row, &version); err != nil {
		return err
	}
	if len(w.tails) > maxTails {
		clear(w.tails)
	}
	if version == w.version {
		return nil
	}
	w.forget()
	w.version = version
	return w.migrated()
}

// forget drops what is remembered of the database.
func (w *writer) forget() {
	clear(w.tails)
	w.log.next = 0
}

// migrated refuses to write a database that a newer binary has migrated since it
// was opened.
func (w *writer) migrated() error {
	want, err := newest()
	if err != nil {
		return err
	}
	_, err = w.store.version(w.conn, want)
	return err
}

// undo ends a failed transaction. After an error of the disk the connection is
// opened afresh.
func (w *writer) undo(err error) error {
	w.forget()
	if w.conn == nil {
		return err
	}
	back := w.conn.rollback()
	if p := primary(err); back != nil || p == sqlite3.SQLITE_IOERR || p == sqlite3.SQLITE_CORRUPT || p == sqlite3.SQLITE_NOTADB {
		if e := w.conn.close(); e != nil {
			w.store.log.Warn("closing the writing connection", "err", e)
		}
		w.conn = nil
	}
	return err
}

// room is presize where no batch holds the gate.
func (w *writer) room() error {
	if err := w.gate.Lock(); err != nil {
		return err
	}
	defer w.gate.Unlock()
	return w.presize()
}

// presize gives the WAL its full size once: overwriting a file syncs several
// times faster than growing it. The gate must be held: what another process
// appended meanwhile would be overwritten.
func (w *writer) presize() error {
	// A read makes the WAL file exist.
	if _, err := w.conn.row("SELECT count(*) FROM sqlite_schema"); err != nil {
		return err
	}
	f, err := os.OpenFile(w.store.path(databaseName+"-wal"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := extend(f); err != nil {
		w.store.log.Warn("giving the write-ahead log its size", "err", err)
	}
	w.sized = true
	return f.Close()
}

func extend(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() >= presizeWAL {
		return err
	}
	zero := make([]byte, 256<<10)
	for at := info.Size(); at < presizeWAL; at += int64(len(zero)) {
		if _, err := f.WriteAt(zero, at); err != nil {
			return errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return f.Sync()
}

// count adds the pages of the last commit.
func (w *writer) count() {
	st, ok := w.conn.raw.(sqlite.DBStatus)
	if !ok {
		return
	}
	n, _, err := st.Status(sqlite.DBStatusCacheWrite, true)
	if err != nil {
		w.store.log.Warn("counting written pages", "err", err)
		return
	}
	w.pages = (w.pages + n) % 1000 // the automatic checkpoint
	w.total += n
	w.wrote = time.Now()
	if w.pages > idlePages && !w.watched {
		w.watched = true
		w.grown <- struct{}{}
	}
}

// checkpoint copies the WAL into the database, so that it starts over.
func (w *writer) checkpoint() {
	w.pages = 0
	if w.conn == nil {
		return
	}
	if _, err := w.conn.row("PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		w.store.log.Warn("checkpointing", "err", err)
	}
}

// close ends the connection after the loop has ended.
func (w *writer) close() error {
	if w.conn == nil {
		return w.gate.Close()
	}
	if w.total > idlePages/4 {
		w.restart()
	}
	return errors.Join(w.conn.close(), w.gate.Close())
}

// restart makes the WAL begin again, so that the next process has no long one to
// read when it opens the database.
func (w *writer) restart() {
	err := w.gate.Lock()
	if err == nil {
		defer w.gate.Unlock()
		w.checkpoint()
		err = w.conn.exec("UPDATE runs SET epoch = epoch WHERE key = (SELECT max(key) FROM runs)")
	}
	if err != nil {
		w.store.log.Warn("restarting the write-ahead log", "err", err)
	}
}
