package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/feature"
)

// Driver opens a database. Its value is configuration only; it may be opened
// more than once.
type Driver interface {
	// Open connects, checks integrity if the engine can, and creates the schema's
	// missing tables, columns and indexes.
	Open(ctx context.Context, cell string, schema Schema) (DB, error)

	// Inspect opens an existing database read-only: nothing is migrated or locked, so
	// it works while an owner is running. The tables of the schema must exist.
	Inspect(ctx context.Context, cell string, schema Schema) (DB, error)
}

// connector is implemented by drivers that can do part of Open while another node
// owns the cell. Connect returns nil if all of it is left to Open.
type connector interface {
	Connect(ctx context.Context, cell string, schema Schema) (DB, error)
}

// changeReader is implemented by a DB that can tell what an owner has committed since, so
// that a standby can keep the state ready.
type changeReader interface {
	// Changes reads the rows that were written or removed after since, as they are now, in
	// one consistent view. It returns ErrGap if that is not known any more.
	Changes(ctx context.Context, since State) (Changes, error)
}

// Changes are the rows that differ between two states.
type Changes struct {
	State State // the newer one
	Rows  []ChangedRow
}

// ChangedRow is a live row that was written or removed.
type ChangedRow struct {
	Table int
	Key   string
	Doc   []byte // nil: there is no such row
}

// ErrGap reports that a database does not know all changes since a state.
var ErrGap = errors.New("the changes since then are not known any more")

// DB stores one cell's state durably. Commit, Take and Renew are called by one
// goroutine at a time, the other methods by any.
type DB interface {
	// Take makes owner the cell's owner and returns its fence, in the next epoch.
	Take(ctx context.Context, owner string) (Fence, error)

	// Level returns the cell's feature level, and Raise raises it. If this program does not
	// know the level, the error of Level, Take and Dump is a *feature.Newer, and Take takes
	// nothing.
	Level(ctx context.Context) (feature.Level, error)
	Raise(ctx context.Context, level feature.Level) error

	// Renew advances to the next epoch if owner still has the cell; otherwise it
	// returns ErrFenced. No commit begun in the earlier epoch takes effect after it,
	// and everything committed before it is durable once it returns.
	Renew(ctx context.Context, owner string) (Fence, error)

	// Load reads all live rows in one consistent view, by ascending key if that is
	// cheap. The callback may keep doc.
	Load(ctx context.Context, row func(table int, key string, doc []byte) error) (State, error)

	// Commit makes the batch durable, completely or not at all. It returns ErrFenced
	// if the fence is not the batch's, an error that wraps ErrTransient if nothing
	// was committed and trying again may help, and one that wraps ErrInDoubt if the
	// connection was lost before the database answered: Renew then settles whether
	// the batch was committed. After any other error the state must be read again. The
	// batch's slices are reused after Commit.
	Commit(ctx context.Context, b *Batch) error

	// Archived and Entries run checked queries. Their errors, and those of Renew and
	// Load, wrap ErrTransient or ErrInDoubt if the database is unavailable.
	Archived(ctx context.Context, table int, q Query) ([][]byte, error)
	Entries(ctx context.Context, log int, q LogQuery) ([]StoredEntry, error)

	// ArchivedKeys returns keys of archived rows: those after a key, ascending, and at
	// most limit of them.
	ArchivedKeys(ctx context.Context, table int, after string, limit int) ([]string, error)

	// Prune removes at most as many expired rows as p says, and returns how many. A driver
	// that removes many rows at once may keep them for longer, by a part of their retention.
	Prune(ctx context.Context, p Pruning) (int, error)

	// SetBack sets the time of log entries later than now to now: they were written
	// with a wrong clock. Queries rely on times that increase with numbers.
	SetBack(ctx context.Context, now time.Time) error

	// Grown reports whether the schema's columns differ from those of the last
	// Settle, so that stored rows may lack values. SetColumns stores the values of
	// rows and entries; Settle records that all have them.
	Grown(ctx context.Context) (bool, error)
	SetColumns(ctx context.Context, items []Item) error
	Settle(ctx context.Context) error

	// Dump reads everything stored, in one consistent view. Fill stores it in an
	// empty cell, completely or not at all.
	Dump(ctx context.Context, item func(Item) error) (State, error)
	Fill(ctx context.Context, items func(add func(Item) error) (State, error)) error

	Close() error
}

// Pruning says what Prune removes.
type Pruning struct {
	Now    time.Time   // archived rows that expired by then
	Before []time.Time // for each log: entries of that time or earlier; zero removes none
	Rows   int         // at most
}

// ErrFenced reports that another owner took the cell, or that the sequence in SQL is
// not the one that this owner stored there.
var ErrFenced = errors.New("the cell's fence is held by another owner")

// ErrNotEmpty reports that the target of a restore already has data.
var ErrNotEmpty = errors.New("the target is not empty")

// ErrTransient marks errors after which nothing was changed and trying again may
// help.
var ErrTransient = errors.New("nothing was committed, trying again may help")

// ErrInDoubt marks commits that may or may not have happened.
var ErrInDoubt = errors.New("the database was lost before it answered")

// ErrFull marks errors of a database whose disk is full.
var ErrFull = errors.New("the disk of the database is full")

// away reports whether an error means that the database is unavailable for now, as
// opposed to refusing the request.
func away(err error) bool { return errors.Is(err, ErrTransient) || errors.Is(err, ErrInDoubt) }

// Schema lists what is stored. The position in a list is the number that Batch, Load,
// Archived and Entries use.
type Schema struct {
	Tables []TableSchema
	Logs   []LogSchema
}

// Signature returns a text that names all columns, for comparison with another
// schema.
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

// TableSchema describes a live table and, if Retention is positive, its archive.
type TableSchema struct {
	Name      string
	Columns   []ColumnSchema
	Retention time.Duration
}

// LogSchema describes a log.
type LogSchema struct {
	Name      string
	Columns   []ColumnSchema
	Retention time.Duration // 0 keeps entries forever
}

// ColumnSchema describes a text column stored next to the document.
type ColumnSchema struct {
	Name   string
	Unique bool // among the values of live rows that are not ""
	Digest bool // its values are only compared with others
}

// Brief returns a value of the column as a driver may store it for what has ended: a long one
// that is only compared is replaced by 96 bits of its digest.
func (c ColumnSchema) Brief(value string) string {
	if !c.Digest || len(value) <= briefLength {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "#" + base64.RawURLEncoding.EncodeToString(sum[:12])
}

const briefLength = 17

// Fence identifies the owner in each commit.
type Fence struct {
	Owner string
	Epoch uint64 // increases with each Take
	Seq   uint64 // of the last command committed
}

// State is the durable state besides the rows.
type State struct {
	Level feature.Level // only in a dump
	Fence Fence
	Now   time.Time // of the last command committed
	Last  []uint64  // last number of each log

	// Mark distinguishes the last commit from others that led to its sequence: a database
	// that lost commits gives out their sequences again. 0 if it is not known.
	Mark uint64
}

// Batch is one group commit.
type Batch struct {
	Fence  Fence  // the fence required in SQL
	Seq    uint64 // the sequence to store
	Now    time.Time
	Tables []TableBatch
	Logs   []LogBatch
}

// TableBatch is the net change of one table. Deletes are applied first.
type TableBatch struct {
	Table    int
	Deletes  []string // may name rows that do not exist
	Puts     []StoredRow
	Archives []StoredRow
}

// LogBatch has the entries to append to one log, ascending.
type LogBatch struct {
	Log     int
	Entries []StoredEntry
	Skipped uint64 // without entries: the last number that is not given any more
}

// Last returns the last number of the log after the batch.
func (lb LogBatch) Last() uint64 {
	if n := len(lb.Entries); n > 0 {
		return lb.Entries[n-1].Seq
	}
	return lb.Skipped
}

// StoredRow is a row as stored in SQL.
type StoredRow struct {
	Key     string
	Doc     []byte   // JSON
	Columns []string // in the order of the schema
	New     bool     // no row with this key is stored or, if it is to be archived, archived once the batch's deletes are applied
	Same    bool     // for a put: the stored row has the same columns
	Time    time.Time
}

// StoredEntry is a log entry as stored in SQL.
type StoredEntry struct {
	Seq     uint64
	Time    time.Time
	Doc     []byte
	Columns []string
}

// Place identifies the part of a schema's storage that an item belongs to.
type Place string

// The places of items.
const (
	Live    Place = "live"
	Archive Place = "archive"
	LogPart Place = "log"
)

// Item is one stored item in a dump: a live or archived row or a log entry.
type Item struct {
	Place   Place
	Number  int    // of the table or log
	Key     string // of a row
	Seq     uint64 // of a log entry; for a live row, of the commit that last wrote it
	Doc     []byte
	Columns []string
	Time    time.Time // when it was archived or appended
	Expires time.Time // of archived rows
}
