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
	out, broken, err := s.heads(ctx, q)
	for _, run := range broken {
		s.log.Warn("the index row of a run is damaged", "run", run)
	}
	return out, err
}

// heads lists heads, and names those that cannot be read.
func (s *Store) heads(ctx context.Context, q store.Query) (out []store.Head, broken []workflow.RunID, err error) {
	text, args := listing(q)
	rows, err := s.reads.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, nil, s.fault("reading", err)
	}
	defer func() { err = errors.Join(err, s.fault("reading", rows.Close())) }()
	for rows.Next() {
		var run string
		var raw []byte
		var last, epoch int64
		if err := rows.Scan(&run, &raw, &epoch, &last); err != nil {
			return nil, nil, s.fault("reading", err)
		}
		h := store.Head{}
		if err := json.Unmarshal(raw, &h); err != nil || string(h.Run) != run {
			broken = append(broken, workflow.RunID(run))
			h = store.Head{Run: workflow.RunID(run), Root: workflow.RunID(run), Status: workflow.StatusInvalid}
		}
		h.Last, h.Epoch = last, epoch
		if h.Owner, err = s.owner(h.Run); err != nil {
			return nil, nil, s.fault("reading", err)
		}
		out = append(out, h)
	}
	return out, broken, s.fault("reading", rows.Err())
}

func listing(q store.Query) (string, []any) {
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
	text := "SELECT r.run, r.head, CAST(r.epoch AS INTEGER), CAST(max(CAST(r.cut AS INTEGER), ifnull((SELECT max(seq) FROM events WHERE run = r.key), 0)) AS INTEGER) FROM runs r"
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
