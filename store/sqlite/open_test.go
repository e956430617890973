package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchema compares the schema of a new database with the recorded one: a
// released migration never changes, a new one is a new file.
func TestSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "tenon.db"))
	must(t, err)
	defer db.Close()
	var got strings.Builder
	var version int
	must(t, db.QueryRow("PRAGMA user_version").Scan(&version))
	fmt.Fprintf(&got, "-- version %d\n", version)
	rows, err := db.Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
	must(t, err)
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		got.WriteString(line + ";\n")
	}
	must(t, errors.Join(rows.Err(), rows.Close())) //nolint:sqlclosecheck // its error counts
	want, err := os.ReadFile("testdata/schema.sql")
	must(t, err)
	if got.String() != string(want) {
		t.Errorf("the schema is not that of testdata/schema.sql; when a migration was added, record it there:\n%s", got.String())
	}
}

func TestRefusedDatabases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, dir string)
		code workflow.Code
		says string
	}{
		"newer": {func(t *testing.T, dir string) {
			filled(t, dir, 1, 3)
			tamper(t, dir, "PRAGMA user_version = 99")
		}, workflow.CodeStoreNewer, "version 99"},
		"another program's": {func(t *testing.T, dir string) { tamper(t, dir, "CREATE TABLE songs (title TEXT)") }, workflow.CodeStoreDamaged, "not a database of tenon"},
		"a text": {func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "tenon.db"), []byte(strings.Repeat("once upon a time ", 100)), 0o600))
		}, workflow.CodeStoreDamaged, "--salvage"},
		"a directory":     {func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "tenon.db"), 0o700)) }, workflow.CodeStoreUnavailable, "tenon.db"},
		"a file as blobs": {func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "blobs"), nil, 0o600)) }, workflow.CodeStoreUnavailable, "blobs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			test.make(t, dir)
			_, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			fails(t, err, test.code)
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("the error says %q", err)
			}
		})
	}
}

// TestMigratedMeanwhile: an open store does not write what a newer tenon has
// migrated.
func TestMigratedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	must(t, s.Append(t.Context(), created("a")))
	tamper(t, dir, "PRAGMA user_version = 99")
	fails(t, s.Append(t.Context(), created("b")), workflow.CodeStoreNewer)
	tamper(t, dir, "PRAGMA user_version = 2")
	must(t, s.Append(t.Context(), created("b")))
}

// TestQuietOpen: opening, reading and closing changes no file.
func TestQuietOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filled(t, dir, 2, 100)
	look := func() string {
		var out strings.Builder
		for _, name := range []string{"tenon.db", "tenon.db-wal"} {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			info, err := os.Stat(filepath.Join(dir, name))
			must(t, err)
			fmt.Fprintln(&out, name, info.ModTime(), len(raw), store.DigestOf(raw), info.Mode())
		}
		return out.String()
	}
	before := look()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	must(t, err)
	_, err = texts(t, s, "run-1")
	must(t, err)
	_, err = s.Runs(t.Context(), store.Query{})
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())
	if after := look(); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	if !strings.Contains(before, "-rw-------") || strings.Contains(before, "-rw-r") {
		t.Errorf("the files are not private:\n%s", before)
	}
	if err := s.Append(t.Context(), created("late")); workflow.CodeOf(err) != workflow.CodeStoreUnavailable {
		t.Errorf("appending to a closed store gives %v", err)
	}
}

// TestHalfMade opens what a process left that died while it made the database.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	from, dir := t.TempDir(), t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(from, "tenon.db")+"?_pragma=cache_size(1)")
	must(t, err)
	defer db.Close()
	tx, err := db.Begin()
	must(t, err)
	_, err = tx.Exec("CREATE TABLE a (b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO a SELECT zeroblob(5000) FROM n")
	must(t, err)
	must(t, os.CopyFS(dir, os.DirFS(from)))
	must(t, tx.Rollback())
	if info, err := os.Stat(filepath.Join(dir, "tenon.db-journal")); err != nil || info.Size() == 0 {
		t.Fatalf("nothing is to be undone: %v", err)
	}
	s := opened(t, dir)
	must(t, s.Append(t.Context(), created("a")))
	if n := ask(t, dir, "SELECT count(*) FROM sqlite_schema WHERE name = 'a'"); n != 0 {
		t.Error("what was begun is there")
	}
}

func TestUnreadableDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	filled(t, dir, 1, 3)
	must(t, os.Chmod(dir, 0o500))
	_, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	fails(t, err, workflow.CodeStoreUnavailable)
	must(t, os.Chmod(dir, 0o700))
}

// TestCloseUnderLoad: appends of a closing store get an answer.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	must(t, err)
	results := make(chan error, 200)
	for i := range 200 {
		go func() { results <- s.Append(t.Context(), created(workflow.RunID(fmt.Sprintf("r-%d", i)))) }()
	}
	must(t, <-results)
	must(t, s.Close())
	written := 1
	for range 199 {
		switch err := <-results; workflow.CodeOf(err) {
		case "":
			written++
		case workflow.CodeStoreUnavailable:
		default:
			t.Error(err)
		}
	}
	heads, err := opened(t, dir).Runs(t.Context(), store.Query{})
	must(t, err)
	if len(heads) != written {
		t.Errorf("%d runs are there, %d were acknowledged", len(heads), written)
	}
}
