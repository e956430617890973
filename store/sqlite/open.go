package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenonrun/tenon/internal/lock"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

const databaseName = "tenon.db"

// Config says where a store lives.
type Config struct {
	Dir  string       // state directory of the project; made when it is not there
	Host string       // name of this machine in lock files; default os.Hostname
	Log  *slog.Logger // default: nothing is logged
}

// Store is the store of one project. Make it with Open.
type Store struct {
	dir   string
	host  string
	log   *slog.Logger
	reads *sql.DB
	write *writer

	prepared sync.Map // text of a query -> *sql.Stmt

	mu     sync.RWMutex // held for reading while a job is handed over
	closed bool
	holds  sync.Map // *hold -> struct{}
}

// Open opens the store of a directory, and makes or migrates it when needed.
// Errors: CodeStoreUnavailable, CodeStoreNewer, CodeStoreDamaged, CodeStoreFull.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	// Where the platform has no fdatasync, fsync stays: the same durability.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, s.fault("opening", err)
	}
	g, err := lock.OpenGate(filepath.Join(s.dir, "db.w"))
	if err != nil {
		return nil, s.fault("opening", err)
	}
	connector, err := sqlite.NewConnector(s.dsn("ro", ""))
	if err != nil {
		return nil, errors.Join(s.fault("opening", err), g.Close())
	}
	s.reads = sql.OpenDB(connector)
	s.reads.SetMaxOpenConns(8)
	s.reads.SetMaxIdleConns(8)
	c, err := s.ready(ctx, g)
	if err != nil {
		return nil, errors.Join(err, s.reads.Close(), g.Close())
	}
	s.write = newWriter(s, g, c)
	return s, nil
}

// prepare makes the directories and refuses places that cannot be used.
func prepare(cfg Config) (*Store, error) {
	s := &Store{dir: cfg.Dir, host: cfg.Host, log: cfg.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.host == "" {
		s.host = "localhost"
		if name, err := os.Hostname(); err == nil {
			s.host = name
		}
	}
	var err error
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return nil, s.fault("opening", err)
	}
	for _, d := range []string{s.dir, s.path("blobs"), s.path("locks")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, s.fault("opening", err)
		}
		if err := usable(d, true); err != nil {
			return nil, s.fault("opening", err)
		}
	}
	kind, err := lock.NetworkKind(s.dir)
	if err != nil {
		return nil, s.fault("opening", err)
	}
	if kind != "" {
		return nil, workflow.Errorf(workflow.CodeStoreUnavailable, "the state directory %s is on a network file system (%s), where locks cannot be trusted", s.dir, kind).
			WithHint("choose a local directory with --state DIR or TENON_STATE")
	}
	return s, nil
}

func (s *Store) path(name ...string) string {
	return filepath.Join(append([]string{s.dir}, name...)...)
}

// ready makes sure that there is a database of the newest version. It returns
// the writing connection if it needed one: to open a store that is as it should
// be writes nothing.
func (s *Store) ready(ctx context.Context, g *lock.Gate) (*conn, error) {
	name := s.path(databaseName)
	err := usable(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return nil, s.fault("opening", err)
	}
	want, err := newest()
	if err != nil {
		return nil, err
	}
	var version, app, objects int64
	err = s.reads.QueryRowContext(ctx, versionQuery).Scan(&version, &app, &objects)
	switch {
	case primary(err) == sqlite3.SQLITE_READONLY:
		// A process died while it made the database; who may write undoes that.
	case err != nil:
		return nil, s.fault("opening", err)
	default:
		if err := s.known(version, app, objects, want); err != nil || version == want {
			return nil, err
		}
	}
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.migrate(c, g, version, want); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// connect opens a connection that may write. The file of the write-ahead log
// outlives the last connection, with its size.
func (s *Store) connect(ctx context.Context) (*conn, error) {
	c, err := dial(ctx, s.dsn("rw", "&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(1000)&_pragma=cache_size(-16000)"))
	if err != nil {
		return nil, s.fault("opening", err)
	}
	if fc, ok := c.raw.(sqlite.FileControl); ok {
		if _, err := fc.FileControlPersistWAL("main", 1); err != nil {
			return nil, errors.Join(s.fault("opening", err), c.close())
		}
	}
	return c, nil
}

// Close writes what is queued, gives back every hold and closes the files. It
// may be called twice.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.write.jobs)
	s.mu.Unlock()
	<-s.write.done
	err := s.closeReads()
	s.holds.Range(func(h, _ any) bool {
		err = errors.Join(err, h.(*hold).Release())
		return true
	})
	if err = errors.Join(err, s.write.close()); err != nil {
		return fmt.Errorf("closing %s: %w", s.path(databaseName), err)
	}
	return nil
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Keeper = (*Store)(nil)
)
