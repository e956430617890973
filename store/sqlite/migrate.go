package sqlite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

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

// migrate brings the database to the newest version. It writes nothing when the
// database is there already.
func (s *Store) migrate(c *conn, g *gate) error {
	want, err := newest()
	if err != nil {
		return s.fault("opening", err)
	}
	version, err := s.version(c, want)
	if err != nil || version == want {
		return err
	}
	if err := g.lock(); err != nil {
		return s.fault("migrating", err)
	}
	defer g.unlock()
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

// version returns the schema version of the database, or refuses one that is
// newer or not ours.
func (s *Store) version(c *conn, want int64) (int64, error) {
	row, err := c.row("SELECT u.user_version, a.application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version u, pragma_application_id a")
	if err != nil {
		return 0, s.fault("opening", err)
	}
	version, app, objects := row[0].(int64), row[1].(int64), row[2].(int64)
	switch {
	case app == applicationID && version > want:
		return 0, workflow.Errorf(workflow.CodeStoreNewer, "%s has schema version %d, this tenon knows versions up to %d", s.path(databaseName), version, want).
			WithHint("use the tenon that wrote it, or a newer one")
	case app != applicationID && (version != 0 || objects != 0):
		return 0, workflow.Errorf(workflow.CodeStoreDamaged, "%s is not a database of tenon", s.path(databaseName)).
			WithHint("choose another state directory, or try `tenon doctor --salvage`")
	}
	return version, nil
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
	}
	if err := c.script("PRAGMA application_id=" + strconv.Itoa(applicationID) + "; PRAGMA user_version=" + strconv.FormatInt(want, 10)); err != nil {
		return err
	}
	return c.exec("COMMIT")
}
