package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Runs lists heads, newest start first. A run whose index row cannot be read is
// listed as invalid: its events may be good.
func (s *Store) Runs(ctx context.Context, q store.Query) ([]store.Head, error) {
	all, broken, err := s.heads(ctx, q)
	for _, run := range broken {
		s.log.Warn("the index row of a run is damaged", "run", run)
	}
	var out []store.Head
	for _, h := range all {
		out = append(out, h.Head)
	}
	return out, err
}

// indexRow is a head with the key of its run.
type indexRow struct {
	store.Head
	key int64
}

// heads lists heads, and names those that cannot be read. Where the log is
// damaged, the last events are looked for run by run.
func (s *Store) heads(ctx context.Context, q store.Query) (out []indexRow, broken []workflow.RunID, err error) {
	out, broken, err = s.indexRows(ctx, q, lastSeq)
	harmed := damaged(err)
	if harmed {
		out, broken, err = s.indexRows(ctx, q, "0")
	}
	if err != nil {
		return nil, nil, s.fault("reading", err)
	}
	for i := range out {
		h := &out[i]
		if harmed {
			e, err := s.lookup(ctx).end(h.key)
			if err != nil && !damaged(err) {
				return nil, nil, s.fault("reading", err)
			}
			h.Last = max(h.Last, e.last)
		}
		if h.Owner, err = s.owner(h.Run); err != nil {
			return nil, nil, s.fault("reading", err)
		}
	}
	return out, broken, nil
}

// lastSeq is the last own event of a run, if nothing is damaged.
const lastSeq = `ifnull((SELECT max(first + n) - 1 FROM log WHERE run = r.key
	AND id >= (SELECT id FROM spans WHERE run = r.key ORDER BY first DESC LIMIT 1)
	AND id < 64 + (SELECT id FROM spans WHERE run = r.key ORDER BY first DESC LIMIT 1)), 0)`

func (s *Store) indexRows(ctx context.Context, q store.Query, last string) (out []indexRow, broken []workflow.RunID, err error) {
	text, args := listing(q, last)
	rows, err := s.reads.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h indexRow
		var run string
		var raw []byte
		var epoch, last int64
		if err := rows.Scan(&h.key, &run, &raw, &epoch, &last); err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(raw, &h.Head); err != nil || string(h.Run) != run {
			broken = append(broken, workflow.RunID(run))
			h.Head = store.Head{Run: workflow.RunID(run), Root: workflow.RunID(run), Status: workflow.StatusInvalid}
		}
		h.Epoch, h.Last = epoch, last
		out = append(out, h)
	}
	return out, broken, rows.Err()
}

func listing(q store.Query, last string) (string, []any) {
	var where []string
	var args []any
	add := func(cond string, on bool, values ...any) {
		if on {
			where = append(where, cond)
			args = append(args, values...)
		}
	}
	add("r.run = ?", q.Run != "", string(q.Run))
	add("r.run >= ? AND r.run < ?", q.Prefix != "", q.Prefix, q.Prefix+"\x7f") // ids are ASCII
	add("r.key IN (SELECT run FROM questions WHERE question = ?)", q.Question != "", q.Question)
	add("r.child_of <> '' AND r.child_of = ?", q.ChildOf != "", string(q.ChildOf))
	add("r.fork_of <> '' AND r.fork_of = ?", q.ForkOf != "", string(q.ForkOf))
	add("r.child_of = ''", q.Roots)
	text := "SELECT r.key, r.run, r.head, CAST(r.epoch AS INTEGER), max(CAST(r.cut AS INTEGER), CAST(" + last + " AS INTEGER)) FROM runs r"
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	text += " ORDER BY r.started DESC, r.run DESC"
	if q.Limit > 0 {
		text += " LIMIT ?"
		args = append(args, q.Limit)
	}
	return text, args
}
