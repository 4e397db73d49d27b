package store

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Driver opens a database. Its value is configuration only; it may be opened
// more than once.
type Driver interface {
	// Open connects, checks integrity where the engine can, and brings the
	// tables, columns and indexes of the schema into being.
	Open(ctx context.Context, cell string, schema Schema) (DB, error)

	// Inspect opens what is there for reading alone: nothing is migrated or
	// locked, so it works beside a running owner. The tables of the schema must
	// exist.
	Inspect(ctx context.Context, cell string, schema Schema) (DB, error)
}

// connector is a driver that can do part of Open while another node owns the
// cell. It returns nil where all of Open is left to do.
type connector interface {
	Connect(ctx context.Context, cell string, schema Schema) (DB, error)
}

// DB holds one cell's state durably. Commit, Take and Renew are called by one
// goroutine at a time, the others by any.
type DB interface {
	// Take makes owner the cell's owner and gives the fence it holds from now
	// on: the next epoch.
	Take(ctx context.Context, owner string) (Fence, error)

	// Renew moves on to the next epoch where owner still has the cell, else it
	// answers ErrFenced. No commit begun under the earlier epoch happens after it,
	// and whatever was committed before it is durable once it returns.
	Renew(ctx context.Context, owner string) (Fence, error)

	// Load reads all live rows in one consistent view, by ascending key where
	// that is cheap. The document may be kept.
	Load(ctx context.Context, row func(table int, key string, doc []byte) error) (State, error)

	// Commit makes the batch durable, whole or not at all. It returns ErrFenced
	// where the fence is not the batch's, an error that wraps ErrTransient where
	// nothing was committed and trying again may help, and one that wraps
	// ErrInDoubt where the database was lost before it answered: Renew settles
	// whether the batch is in. After any other error the state must be read again.
	Commit(ctx context.Context, b *Batch) error

	// Archived and Entries answer checked queries. Their errors, and those of Renew
	// and Load, wrap ErrTransient or ErrInDoubt where the database is away.
	Archived(ctx context.Context, table int, q Query) ([][]byte, error)
	Entries(ctx context.Context, log int, q LogQuery) ([]StoredEntry, error)

	// Prune removes at most limit rows that expired before now and tells how many.
	Prune(ctx context.Context, now time.Time, limit int) (int, error)

	// SetBack gives log entries that are later than now this time: whoever wrote them
	// had a wrong clock. Queries rely on times that rise with numbers.
	SetBack(ctx context.Context, now time.Time) error

	// Grown tells whether the schema's columns are not those of the last Settle,
	// so that stored rows may lack values. SetColumns gives rows and entries
	// their values, Settle says that all have them.
	Grown(ctx context.Context) (bool, error)
	SetColumns(ctx context.Context, items []Item) error
	Settle(ctx context.Context) error

	// Dump reads everything that is kept, in one consistent view; Fill stores it
	// in an empty cell, whole or not at all.
	Dump(ctx context.Context, item func(Item) error) (State, error)
	Fill(ctx context.Context, items func(add func(Item) error) (State, error)) error

	Close() error
}

// ErrFenced says that another owner took the cell, or that the sequence in SQL is
// not the one this owner left there.
var ErrFenced = errors.New("the cell's fence is held by another owner")

// ErrNotEmpty says that a restore would have mixed with what is kept already.
var ErrNotEmpty = errors.New("the target is not empty")

// ErrTransient marks commits of which nothing happened and which may be tried again.
var ErrTransient = errors.New("nothing was committed, trying again may help")

// ErrInDoubt marks commits that may or may not have happened.
var ErrInDoubt = errors.New("the database was lost before it answered")

// ErrFull marks errors of a database whose disk is full.
var ErrFull = errors.New("the disk of the database is full")

// away reports whether an error says that the database cannot be used for now,
// and not that it refused.
func away(err error) bool { return errors.Is(err, ErrTransient) || errors.Is(err, ErrInDoubt) }

// Schema lists what is kept; the position in a list is the number that Batch,
// Load, Archived and Entries use.
type Schema struct {
	Tables []TableSchema
	Logs   []LogSchema
}

// Signature names all columns, for comparison with another schema.
func (s Schema) Signature() string {
	var b strings.Builder
	add := func(name string, columns []ColumnSchema) {
		b.WriteString(name + "(")
		for _, c := range columns {
			b.WriteString(c.Name + ",")
		}
		b.WriteString(")")
	}
	for _, t := range s.Tables {
		add(t.Name, t.Columns)
	}
	for _, l := range s.Logs {
		add(l.Name, l.Columns)
	}
	return b.String()
}

// TableSchema describes a live table and, where Retention is positive, its archive.
type TableSchema struct {
	Name      string
	Columns   []ColumnSchema
	Retention time.Duration
}

// LogSchema describes a log.
type LogSchema struct {
	Name      string
	Columns   []ColumnSchema
	Retention time.Duration // 0 keeps entries for good
}

// ColumnSchema describes a text column beside the document.
type ColumnSchema struct {
	Name   string
	Unique bool // among the values of live rows that are not ""
}

// Fence is what an owner must show to commit.
type Fence struct {
	Owner string
	Epoch uint64 // rises with each Take
	Seq   uint64 // of the last command committed
}

// State is what is durable beside the rows.
type State struct {
	Fence Fence
	Now   time.Time // of the last command committed
	Last  []uint64  // last number of each log
}

// Batch is one group commit.
type Batch struct {
	Fence  Fence  // as it must be found
	Seq    uint64 // as it shall be left
	Now    time.Time
	Tables []TableBatch
	Logs   []LogBatch
}

// TableBatch is the net change of one table: deletes happen first.
type TableBatch struct {
	Table    int
	Deletes  []string // may name rows that are not there
	Puts     []StoredRow
	Archives []StoredRow
}

// LogBatch is what is appended to one log, ascending.
type LogBatch struct {
	Log     int
	Entries []StoredEntry
}

// StoredRow is a row as SQL keeps it.
type StoredRow struct {
	Key     string
	Doc     []byte   // JSON
	Columns []string // in the order of the schema
	Same    bool     // a put whose row is stored already, with these columns
	Time    time.Time
}

// StoredEntry is a log entry as SQL keeps it.
type StoredEntry struct {
	Seq     uint64
	Time    time.Time
	Doc     []byte
	Columns []string
}

// Place says which part of a schema's storage an item belongs to.
type Place string

// The places of items.
const (
	Live    Place = "live"
	Archive Place = "archive"
	LogPart Place = "log"
)

// Item is one stored thing in a dump: a live or archived row or a log entry.
type Item struct {
	Place   Place
	Number  int    // of the table or log
	Key     string // of a row
	Seq     uint64 // of a log entry; of a live row the commit that wrote it last
	Doc     []byte
	Columns []string
	Time    time.Time // archived or appended
	Expires time.Time // of archived rows
}
