package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"github.com/tenonrun/tenon/store"
)

// dsn returns the address of the database, opened in a mode (ro or rw), with
// more pragmas; the file must be there.
func (s *Store) dsn(mode, pragmas string) string {
	return address(s.path(databaseName), "mode="+mode+"&_pragma=busy_timeout(5000)"+pragmas)
}

func address(path, query string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + query
}

// conn is one connection without a pool around it; one goroutine uses it at a
// time. Statements are prepared once.
type conn struct {
	raw   driver.Conn
	stmts map[string]*stmt
}

type stmt struct {
	driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	args  []driver.NamedValue
}

func dial(ctx context.Context, dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: make(map[string]*stmt)}, nil
}

func (c *conn) prepare(text string, args []any) (*stmt, error) {
	st := c.stmts[text]
	if st == nil {
		raw, err := c.raw.Prepare(text)
		if err != nil {
			return nil, err
		}
		exec, okExec := raw.(driver.StmtExecContext)
		query, okQuery := raw.(driver.StmtQueryContext)
		if !okExec || !okQuery {
			return nil, errors.Join(errors.New("the database driver has no statements with a context"), raw.Close())
		}
		st = &stmt{Stmt: raw, exec: exec, query: query}
		c.stmts[text] = st
	}
	st.args = st.args[:0]
	for i, v := range args {
		st.args = append(st.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return st, nil
}

// exec runs a statement with int64, string, []byte or nil arguments.
func (c *conn) exec(text string, args ...any) error {
	st, err := c.prepare(text, args)
	if err != nil {
		return err
	}
	_, err = st.exec.ExecContext(context.Background(), st.args)
	return err
}

// insert runs a statement and returns the id of the new row.
func (c *conn) insert(text string, args ...any) (int64, error) {
	st, err := c.prepare(text, args)
	if err != nil {
		return 0, err
	}
	r, err := st.exec.ExecContext(context.Background(), st.args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// row returns the only row of a query; nil when there is none.
func (c *conn) row(text string, args ...any) ([]driver.Value, error) {
	return lookup(c.each).one(text, args...)
}

var errStop = errors.New("enough")

// each calls f with every row of a query; the row is f's to keep.
func (c *conn) each(text string, args []any, f func([]driver.Value) error) error {
	st, err := c.prepare(text, args)
	if err != nil {
		return err
	}
	rows, err := st.query.QueryContext(context.Background(), st.args)
	if err != nil {
		return err
	}
	for {
		row := make([]driver.Value, len(rows.Columns()))
		if err = rows.Next(row); err != nil {
			break
		}
		if err = f(row); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// scan reads the columns of a row into *int64, *string, *[]byte and *store.Sum.
// NULL leaves its destination alone; another type than the expected is a damage.
func scan(row []driver.Value, dst ...any) error {
	for i, to := range dst {
		ok := row[i] == nil
		switch to := to.(type) {
		case *int64:
			if v, is := row[i].(int64); is {
				*to, ok = v, true
			}
		case *string:
			if v, is := row[i].(string); is {
				*to, ok = v, true
			}
		case *[]byte:
			if v, is := row[i].([]byte); is {
				*to, ok = v, true
			}
		case *store.Sum:
			if v, is := row[i].([]byte); is {
				*to, ok = sumOf(v), true
			}
		}
		if !ok {
			return fmt.Errorf("%w: column %d is %T", errRow, i+1, row[i])
		}
	}
	return nil
}

// script runs several statements.
func (c *conn) script(text string) error {
	x, ok := c.raw.(driver.ExecerContext)
	if !ok {
		return errors.New("the database driver runs no scripts")
	}
	_, err := x.ExecContext(context.Background(), text, nil)
	return err
}

// rollback ends a transaction that may have ended by itself.
func (c *conn) rollback() error {
	err := c.exec("ROLLBACK")
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == codeError {
		return nil // no transaction is active
	}
	return err
}

func (c *conn) close() error {
	var err error
	for _, st := range c.stmts {
		err = errors.Join(err, st.Close())
	}
	if err = errors.Join(err, c.raw.Close()); err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	return nil
}
