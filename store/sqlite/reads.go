package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// Reads that come often are prepared once: to parse one costs more than to run
// it.

// statement returns the prepared form of a text.
func (s *Store) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := s.prepared.Load(text); ok {
		return st.(*sql.Stmt), nil
	}
	//nolint:sqlclosecheck // closeReads closes them all
	st, err := s.reads.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if first, there := s.prepared.LoadOrStore(text, st); there {
		return first.(*sql.Stmt), st.Close() //nolint:sqlclosecheck // the other one stays
	}
	return st, nil
}

// query runs a prepared query.
func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := s.statement(ctx, text) //nolint:sqlclosecheck // as above
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// row is the one row of a query, or its error.
type row interface{ Scan(dest ...any) error }

type noRow struct{ err error }

// Scan gives the error.
func (n noRow) Scan(...any) error { return n.err }

// row runs a prepared query for one row.
func (s *Store) row(ctx context.Context, text string, args ...any) row {
	st, err := s.statement(ctx, text) //nolint:sqlclosecheck // as above
	if err != nil {
		return noRow{err}
	}
	return st.QueryRowContext(ctx, args...)
}

// closeReads ends all reads.
func (s *Store) closeReads() error {
	var err error
	s.prepared.Range(func(_, st any) bool {
		err = errors.Join(err, st.(*sql.Stmt).Close())
		return true
	})
	return errors.Join(err, s.reads.Close())
}
