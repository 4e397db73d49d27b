// Package postgres stores a store's state in PostgreSQL. Each cell has its own schema,
// muster_<cell>, so several cells can share one database and each can be dumped
// separately. A group commit is one pipelined transaction that begins with the fence
// row.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Driver opens cells of one database.
type Driver struct{ url, password string }

// New returns the driver for a database, given by a postgres:// URL or a list of
// key=value words. The role must be allowed to create schemas.
func New(url string) *Driver { return &Driver{url: url} }

// WithPassword returns the driver with a password that replaces the URL's; "" keeps
// that.
func (d *Driver) WithPassword(password string) *Driver {
	return &Driver{d.url, cmp.Or(password, d.password)}
}

// readers is how many connections read state, archives and logs concurrently.
const readers = 4

// connectTimeout bounds an attempt to connect if the URL sets no timeout: a machine
// that no longer responds must not delay a commit to another that has taken over its
// address.
const connectTimeout = 5 * time.Second

// db is one cell's schema. The writer pool has one connection, so that commits
// stay in order and their statements stay prepared.
type db struct {
	sqltext.Cell
	space  string // the SQL schema, quoted
	writer *pgxpool.Pool
	reader *pgxpool.Pool

	level   feature.Level // as Take read it, until Level returns it; otherwise 0
	settled *string       // the columns that all rows have, as last read; nil if unknown

	parted catalog
}

func dialect() sqltext.Dialect {
	return sqltext.Dialect{Text: `text COLLATE "C"`, Doc: "json", Int: "bigint", Bytes: "bytea", Parted: true}
}

var cellForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Open connects and migrates the cell's schema.
func (d *Driver) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := d.connect(ctx, cell, schema)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("migrate %s: %w", db.space, err)
	}
	return db, nil
}

// Connect connects to a cell that another node may own, and changes nothing. It returns
// nil if Open would have to create tables.
func (d *Driver) Connect(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := d.connect(ctx, cell, schema)
	if err != nil {
		return nil, err
	}
	if made, err := db.made(ctx); err != nil || !made {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Inspect connects to an existing cell.
func (d *Driver) Inspect(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := d.connect(ctx, cell, schema)
	if err != nil {
		return nil, err
	}
	if err := db.reader.Ping(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return db, nil
}

func (d *Driver) connect(ctx context.Context, cell string, schema store.Schema) (*db, error) {
	if !cellForm.MatchString(cell) {
		return nil, fmt.Errorf("cell %q: a name on PostgreSQL has 1 to 40 lower case letters, digits, - and _", cell)
	}
	db := &db{Cell: sqltext.Cell{Name: cell, Schema: schema, Dialect: dialect()}, space: sqltext.Quote("muster_" + cell)}
	var err error
	if db.writer, err = d.pool(ctx, db.space, 1, indexed); err != nil {
		return nil, err
	}
	if db.reader, err = d.pool(ctx, db.space, readers, nil); err != nil {
		db.writer.Close()
		return nil, err
	}
	return db, nil
}

// indexed are settings of the writer's connection. All of its statements find rows by their
// keys; they are planned when a table or a new partition is still empty, and the plan is kept.
// Up to PostgreSQL 17 the planner takes what cannot avoid a scan, such as reading the feature
// level in Take, to be so expensive that it would compile it for half a second.
var indexed = map[string]string{"enable_seqscan": "off", "jit": "off"}

func (d *Driver) pool(ctx context.Context, space string, size int32, settings map[string]string) (*pgxpool.Pool, error) {
	config, err := d.config()
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = size, 1
	// A connection that broke while idle is replaced when its use fails; a ping before
	// would cost each commit after a pause a round trip.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.RuntimeParams["search_path"] = space
	config.ConnConfig.RuntimeParams["application_name"] = "muster"
	// Commits must be durable before they are acknowledged to players and game servers,
	// whatever the database's default.
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
	maps.Copy(config.ConnConfig.RuntimeParams, settings)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return pool, nil
}

// config parses the URL. An error does not show its password.
func (d *Driver) config() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(d.url)
	if err != nil {
		return nil, fmt.Errorf("read PostgreSQL address: %w", err)
	}
	if d.password != "" {
		config.ConnConfig.Password = d.password
	}
	return config, nil
}

// Close closes the connections.
func (db *db) Close() error {
	db.reader.Close()
	db.writer.Close()
	return nil
}

// query returns a function that runs queries on a pool or in a transaction.
func query(ctx context.Context, on interface {
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
}) sqltext.Query {
	return func(row func(sqltext.Row) error, text string, args ...any) error {
		rows, err := on.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return sqltext.Rows(rows, row)
	}
}

// exec returns a function that runs statements on the writer's connection.
func (db *db) exec(ctx context.Context) sqltext.Exec {
	return func(text string, args ...any) (int64, error) {
		tag, err := db.writer.Exec(ctx, text, args...)
		return tag.RowsAffected(), err
	}
}

// view runs f in one read-only transaction, which sees a single state.
func (db *db) view(ctx context.Context, f func(pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	tx, err := again(func() (pgx.Tx, error) { return db.reader.BeginTx(ctx, options) })
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err = f(tx); err != nil && tx.Conn().IsClosed() {
		err = fmt.Errorf("%w: %w", store.ErrTransient, err)
	}
	return err
}
