// Package sqlite stores a store's state in a SQLite database: the embedded default. A
// data directory contains muster.db and a lock file. One process at a time may own
// it; others may read it and back it up concurrently.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
	_ "modernc.org/sqlite" // the engine, in Go
)

// Driver opens the database of a data directory, or a single file.
type Driver struct {
	dir  string // "" for a single file
	file string
}

// New returns the driver for a data directory, which Open creates if it is missing.
func New(dir string) *Driver { return &Driver{dir: dir, file: filepath.Join(dir, "muster.db")} }

// File returns the driver for a single database file, such as a backup.
func File(path string) *Driver { return &Driver{file: path} }

// db is an opened database. Writes use one connection under a mutex, reads a separate
// pool.
type db struct {
	sqltext.Cell
	file   string
	lock   *os.File // held while open; nil if only inspecting
	writer *sql.DB
	reader *sql.DB

	mu   sync.Mutex
	conn *sql.Conn            // the writer's connection
	stmt map[string]statement // prepared on conn, by text

	// Memory of a commit, used again for the next one.
	values []any               // of the rows of an insert
	args   []driver.NamedValue // of a statement
	picked []int               // rows of a table that are written with one statement

	checkpoints *checkpointer // nil if only inspecting

	inserts map[shape]string // texts of inserts

	reads chan struct{} // one value for each use of reader
	asked sync.Map      // *sql.Stmt prepared on reader, by text
}

// readers is how many connections read archives and logs concurrently.
const readers = 4

func dialect() sqltext.Dialect {
	return sqltext.Dialect{Text: "TEXT", Doc: "TEXT", Int: "INTEGER", Bytes: "BLOB"}
}

// Open locks the directory, checks the file's integrity and migrates it.
func (d *Driver) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db := &db{Cell: sqltext.Cell{Name: cell, Schema: schema, Dialect: dialect()}, file: d.file, stmt: map[string]statement{}, inserts: map[shape]string{}}
	if err := db.open(ctx, d); err != nil {
		db.Close()
		return nil, db.explain(err)
	}
	return db, nil
}

func (db *db) open(ctx context.Context, d *Driver) error {
	if d.dir != "" {
		if err := os.MkdirAll(d.dir, 0o700); err != nil {
			return fmt.Errorf("make data directory: %w", err)
		}
		lock, err := lockDirectory(d.dir)
		if err != nil {
			return err
		}
		db.lock = lock
	}
	if err := private(d.file); err != nil {
		return err
	}
	if err := db.connect(ctx, d.file); err != nil {
		return err
	}
	if err := check(ctx, db.conn, d.file); err != nil {
		return err
	}
	if err := db.keepCheckpoints(ctx); err != nil {
		return err
	}
	if err := db.migrate(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", d.file, err)
	}
	return nil
}

func (db *db) connect(ctx context.Context, file string) (err error) {
	if err := registerVFS(); err != nil {
		return err
	}
	if db.writer, err = sql.Open("sqlite", address(file, "rwc")); err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	db.writer.SetMaxOpenConns(2) // the writer and the checkpoints
	if db.conn, err = db.writer.Conn(ctx); err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	return db.connectReader(file)
}

func (db *db) connectReader(file string) (err error) {
	if db.reader, err = sql.Open("sqlite", address(file, "ro")); err != nil {
		return fmt.Errorf("open %s for reading: %w", file, err)
	}
	db.reader.SetMaxOpenConns(readers)
	db.reader.SetMaxIdleConns(readers)
	db.reads = make(chan struct{}, readers)
	return nil
}

// Inspect opens the file for reading, even while an owner has it open.
func (d *Driver) Inspect(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	if _, err := os.Stat(d.file); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &db{Cell: sqltext.Cell{Name: cell, Schema: schema, Dialect: dialect()}, file: d.file}
	if err := db.connectReader(d.file); err != nil {
		return nil, err
	}
	conn, err := db.reader.Conn(ctx)
	if err == nil {
		err = check(ctx, conn, d.file)
		conn.Close()
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Cells returns the names of the cells in a file, in order.
func Cells(ctx context.Context, file string) (names []string, err error) {
	in, err := File(file).Inspect(ctx, "", store.Schema{})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	err = in.(*db).ask(ctx)(func(row sqltext.Row) error {
		var name string
		err := row.Scan(&name)
		names = append(names, name)
		return err
	}, `SELECT "name" FROM "muster_cell" ORDER BY "name"`)
	return names, err
}

// address returns the connection string. Commits are synced to disk (synchronous
// FULL). The cache has 8 MiB only: SQLite scans all of it at the end of a commit
// that split a page, and what it lacks is in the operating system's cache.
func address(file, mode string) string {
	v := url.Values{"mode": {mode}, "_pragma": {
		"busy_timeout(5000)", "cache_size(-8192)", "temp_store(memory)",
	}}
	if mode == "ro" {
		v["_pragma"] = []string{"busy_timeout(5000)", "cache_size(-8192)"}
	} else {
		v.Set("vfs", vfsName)
		v["_pragma"] = append(v["_pragma"], "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint("+strconv.Itoa(checkpointInline)+")")
	}
	path := (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
	return "file:" + path + "?" + v.Encode()
}

// check runs SQLite's own integrity check.
func check(ctx context.Context, conn *sql.Conn, file string) error {
	var found []string
	err := query(ctx, conn)(func(row sqltext.Row) error {
		var line string
		err := row.Scan(&line)
		found = append(found, line)
		return err
	}, "PRAGMA quick_check(5)")
	if err != nil {
		return fmt.Errorf("%s is damaged or no database; restore a backup: %w", file, err)
	}
	if len(found) != 1 || found[0] != "ok" {
		return fmt.Errorf("%s is damaged; restore a backup: %s", file, strings.Join(found, "; "))
	}
	return nil
}

// Close closes the database and unlocks the directory.
func (db *db) Close() error {
	var errs []error
	if db.checkpoints != nil {
		errs = append(errs, db.checkpoints.close())
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, s := range db.stmt {
		errs = append(errs, s.Close())
	}
	db.stmt = nil
	for _, s := range db.asked.Range {
		errs = append(errs, s.(*sql.Stmt).Close())
	}
	if db.conn != nil {
		errs = append(errs, db.conn.Close())
	}
	if db.reader != nil {
		errs = append(errs, db.reader.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
	}
	return errors.Join(errs...)
}
