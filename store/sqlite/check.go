package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Check reads everything: the pages of the database, the chain of every run,
// and the content of every blob and snapshot.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	var rep store.Report
	for _, part := range []func(context.Context, *store.Report) error{s.checkPages, s.checkRuns, s.checkBlobs, s.checkSnapshots} {
		if err := part(ctx, &rep); err != nil {
			return rep, err
		}
	}
	return rep, nil
}

const salvageNext = "copy what can be read into a new store with `tenon doctor --salvage`"

func (s *Store) checkPages(ctx context.Context, rep *store.Report) error {
	var lines []string
	err := s.eachRow(ctx, "PRAGMA integrity_check(20)", nil, func(scan func(...any) error) error {
		var line string
		err := scan(&line)
		lines = append(lines, line)
		return err
	})
	switch {
	case damaged(err):
		lines = append(lines, err.Error())
	case err != nil:
		return err
	}
	for _, line := range lines {
		if line != "ok" {
			rep.Problems = append(rep.Problems, store.Problem{What: "the database: " + line, Next: salvageNext})
		}
	}
	return nil
}

func (s *Store) checkRuns(ctx context.Context, rep *store.Report) error {
	heads, broken, err := s.heads(ctx, store.Query{})
	if damaged(err) {
		rep.Problems = append(rep.Problems, store.Problem{What: "the list of runs cannot be read: " + err.Error(), Next: salvageNext})
		return nil
	}
	if err != nil {
		return err
	}
	found := make(map[int64]int64, len(heads)) // events by run; less than none when it is damaged
	for _, h := range heads {
		rep.Runs++
		n, err := s.checkRun(ctx, h.Run)
		rep.Events += n
		if found[h.key] = n; err != nil {
			found[h.key] = -1
		}
		var d *store.Damaged
		switch {
		case errors.As(err, &d):
			rep.Problems = append(rep.Problems, d.Problem())
		case workflow.CodeOf(err) == workflow.CodeStoreNewer:
			rep.Problems = append(rep.Problems, store.Problem{Run: h.Run, What: err.Error(), Next: "read it with a newer tenon"})
		case err != nil:
			return err
		}
	}
	for _, run := range broken {
		rep.Problems = append(rep.Problems, store.Problem{Run: run, What: "its index row cannot be read",
			Next: fmt.Sprintf("continue it with `tenon resume %s`, which writes a new one", run)})
	}
	return s.checkLog(ctx, rep, found, salvageNext)
}

// checkLog looks for rows of the log that no history leads to.
func (s *Store) checkLog(ctx context.Context, rep *store.Report, found map[int64]int64, next string) error {
	err := s.eachRow(ctx, "SELECT run, sum(n), max(first + n) - 1 FROM log WHERE run <> 0 GROUP BY run", nil, func(scan func(...any) error) error {
		var run, n, last int64
		if err := unread(scan(&run, &n, &last)); err != nil {
			return err
		}
		if have, ok := found[run]; !ok || have >= 0 && have != n {
			rep.Problems = append(rep.Problems, store.Problem{Seq: last,
				What: fmt.Sprintf("%d events of the log, with run number %d, belong to no history", n-have, run), Next: next})
		}
		return nil
	})
	if damaged(err) { // the pages or the runs tell it
		return nil
	}
	return err
}

// checkRun verifies the own events of a run and where they begin. The shared
// ones are verified with the parent.
func (s *Store) checkRun(ctx context.Context, run workflow.RunID) (int64, error) {
	segs, err := s.segments(ctx, run)
	if err != nil {
		return 0, err
	}
	own := segs[len(segs)-1]
	want := store.Origin(run)
	if own.cut > 0 {
		if want, err = s.sumAt(ctx, run, segs[:len(segs)-1], own.cut); err != nil {
			return 0, err
		}
	}
	chain := &store.Chain{Run: run, Seq: own.cut, Sum: own.base}
	if want != own.base {
		return 0, chain.Damaged("it does not follow from the event before it")
	}
	err = s.walk(ctx, chain, own, func(workflow.Event) error { return nil })
	return chain.Seq - own.cut, err
}

func (s *Store) checkBlobs(ctx context.Context, rep *store.Report) error {
	return s.eachBlob(ctx, func(d workflow.Digest, size int64) error {
		rep.Blobs++
		rep.Bytes += size
		if _, err := s.Blob(ctx, d); err != nil {
			if ctx.Err() != nil {
				return err
			}
			rep.Problems = append(rep.Problems, store.Problem{What: err.Error(), Next: "restore it from a backup; runs that read it will name it"})
		}
		return nil
	})
}

func (s *Store) eachBlob(ctx context.Context, f func(workflow.Digest, int64) error) error {
	for id := int64(0); ; {
		var digests []workflow.Digest
		var sizes []int64
		err := s.eachRow(ctx, "SELECT id, digest, size FROM blobs WHERE id > ? ORDER BY id LIMIT ?", []any{id, chunk}, func(scan func(...any) error) error {
			var raw []byte
			var size int64
			err := scan(&id, &raw, &size)
			digests, sizes = append(digests, workflow.Digest(hex.EncodeToString(raw))), append(sizes, size)
			return err
		})
		if err != nil || len(digests) == 0 {
			return err
		}
		for i, d := range digests {
			if err := f(d, sizes[i]); err != nil {
				return err
			}
		}
	}
}

func (s *Store) checkSnapshots(ctx context.Context, rep *store.Report) error {
	return s.eachRow(ctx, "SELECT r.run, s.seq, s.sum, s.state FROM snapshots s JOIN runs r ON r.key = s.run", nil, func(scan func(...any) error) error {
		var run string
		var seq int64
		var sum, state []byte
		if err := scan(&run, &seq, &sum, &state); err != nil {
			return err
		}
		if have := sha256.Sum256(state); !bytes.Equal(have[:], sum) {
			rep.Problems = append(rep.Problems, store.Problem{Run: workflow.RunID(run), Seq: seq, What: "its snapshot is damaged", Next: "nothing: the events stand for it"})
		}
		return nil
	})
}

// eachRow calls f for every row of a query, with the function that reads it.
func (s *Store) eachRow(ctx context.Context, text string, args []any, f func(scan func(...any) error) error) (err error) {
	rows, err := s.reads.QueryContext(ctx, text, args...)
	if err != nil {
		return s.fault("reading", err)
	}
	defer func() { err = errors.Join(err, s.fault("reading", rows.Close())) }()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return s.fault("reading", rows.Err())
}
