package sqlite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/tenonrun/tenon/internal/lock"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks our databases ("teno").
const applicationID = 0x74656e6f

// newest returns the schema version of this binary: its last migration.
func newest() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	return int64(len(names)), err
}

// migrate brings the database from a version to the newest.
func (s *Store) migrate(c *conn, g *lock.Gate, version, want int64) error {
	if err := g.Lock(); err != nil {
		return s.fault("migrating", err)
	}
	defer g.Unlock()
	if version == 0 {
		if err := c.exec("PRAGMA journal_mode=WAL"); err != nil {
			return s.fault("creating", err)
		}
	}
	if err := s.step(c, want); err != nil {
		return errors.Join(s.fault("migrating", err), c.rollback())
	}
	return nil
}

const versionQuery = `SELECT u.user_version, a.application_id, (SELECT count(*) FROM sqlite_schema)
	FROM pragma_user_version u, pragma_application_id a`

// version returns the schema version of the database, or refuses it.
func (s *Store) version(c *conn, want int64) (int64, error) {
	row, err := c.row(versionQuery)
	if err != nil {
		return 0, s.fault("opening", err)
	}
	var version, app, objects int64
	if err := scan(row, &version, &app, &objects); err != nil {
		return 0, s.fault("opening", err)
	}
	return version, s.known(version, app, objects, want)
}

// known refuses a database that is newer than this binary, or not ours.
func (s *Store) known(version, app, objects, want int64) error {
	switch {
	case app == applicationID && version > want:
		return workflow.Errorf(workflow.CodeStoreNewer, "%s has schema version %d, this tenon knows versions up to %d", s.path(databaseName), version, want).
			WithHint("use the tenon that wrote it, or a newer one")
	case app != applicationID && (version != 0 || objects != 0):
		return workflow.Errorf(workflow.CodeStoreDamaged, "%s is not a database of tenon", s.path(databaseName)).
			WithHint("choose another state directory, or try `tenon doctor --salvage`")
	}
	return nil
}

func (s *Store) step(c *conn, want int64) error {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	version, err := s.version(c, want) // another process may have been first
	if err != nil {
		return err
	}
	for v := version + 1; v <= want; v++ {
		text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", v))
		if err != nil {
			return err
		}
		if err := c.script(string(text)); err != nil {
			return fmt.Errorf("migration %d: %w", v, err)
		}
		if v == 2 {
			if err := s.convert(c, "events"); err != nil {
				return fmt.Errorf("migration %d: %w", v, err)
			}
		}
	}
	if err := c.script("PRAGMA application_id=" + strconv.Itoa(applicationID) + "; PRAGMA user_version=" + strconv.FormatInt(want, 10)); err != nil {
		return err
	}
	return c.exec("COMMIT")
}
