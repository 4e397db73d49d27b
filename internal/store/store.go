package store

import (
	"fmt"
	"hash"
	"log/slog"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/musterhq/muster/internal/wake"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configures a store.
type Options struct {
	Driver     Driver                // where state is made durable; required
	Cell       string                // the row of the fence; default "default"
	Owner      string                // this node's name in the fence; default host:pid
	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil keeps no metrics
	MaxBatch   int                   // most commands in a group commit; default 512
	MaxPending int                   // most commands waiting for durability; beyond it Do returns ThrottlingException; default 8192
	Patience   time.Duration         // how long a command waits for an unavailable database; default 10 s
	Record     string                // file to record commands to; "" records nothing
}

// Store is a cell's state and its only writer. Register tables, indexes, logs and
// commands on it, then Open it; a store is opened once.
type Store struct {
	opts       Options
	log        *slog.Logger
	metrics    *metrics
	rowOptions json.Options

	// Registration, fixed once open.
	names    map[string]bool
	slots    int
	tables   []tableMember
	journals []logMember
	commands map[string]replayer
	attest   func(*Tx, jsontext.Value) // or nil

	published atomic.Pointer[Snapshot]
	stalled   atomic.Pointer[stalled] // nil while changes become durable
	lost      chan struct{}
	wake      wake.Nudge    // nudges the journal
	stop      chan struct{} // closed by Close
	stopOnce  sync.Once
	running   sync.WaitGroup
	recorder  *recorder

	mu       sync.Mutex // guards the head and all below
	db       DB
	prepared DB // connected before Open; nil: Open connects
	phase    phase
	dirty    []tableMember // tables that differ from the last sealed snapshot
	sealed   *Snapshot     // the state after the last sealed group
	seq      uint64        // of the head
	clock    clock
	seeds    seeder
	ids      uint64 // the last identifier's clock: milliseconds and counter
	filling  *group
	queue    []*group // sealed, waiting for the journal
	flying   *group   // being committed
	pending  int      // commands in filling, queue and flying
	onReload []func()
	stalling chan struct{} // closed while stalled is not nil
	reading  *reading      // nil except in phaseReloading
	fence    Fence         // used only by the journal once it runs
}

// phase is the phase of a store's life.
type phase int

const (
	phaseNew phase = iota
	phaseOpen
	phaseReloading // a commit failed; the state is being read again
	phaseLost      // another owner has the cell
	phaseClosed
	phaseInspected // opened read-only
)

// tableMember and logMember are tables and logs as the journal uses them.
type tableMember interface {
	member
	ordinal() int
	schema() TableSchema
	compare(sn *Snapshot, key string, columns []string) (same, vacates bool)
	digest(sn *Snapshot, h hash.Hash)
	count(sn *Snapshot) int
	differs(sn, other *Snapshot) error
	each(sn *Snapshot, f func(key string, doc []byte) error) error
	keyOf(doc []byte) (string, error)
	begin(sn *Snapshot)
	load(sn *Snapshot, key string, doc []byte) error
	adopt(sn *Snapshot)
	seal(sn *Snapshot)
}

type logMember interface {
	member
	ordinal() int
	schema() LogSchema
	last() uint64
	adopt(sn *Snapshot)
	nudge()
}

// New returns a store. It panics without a driver.
func New(opts Options) *Store {
	if opts.Driver == nil {
		panic("store: Options.Driver is required")
	}
	opts.setDefaults()
	return &Store{
		opts:       opts,
		log:        opts.Logger.With("component", "store", "cell", opts.Cell),
		rowOptions: rowOptions(),
		names:      map[string]bool{},
		commands:   map[string]replayer{},
		lost:       make(chan struct{}),
		wake:       wake.NewNudge(),
		stop:       make(chan struct{}),
		stalling:   make(chan struct{}),
	}
}

// View returns the latest committed state. The store must be open or have been.
func (s *Store) View() *Snapshot { return s.published.Load() }

// Lost returns a channel that is closed when another owner has taken the cell:
// nothing can be changed through this store any more.
func (s *Store) Lost() <-chan struct{} { return s.lost }

// OnReload registers f to be called each time a failed commit made the store read its
// state from SQL again, so that derived state can be rebuilt. Commands run again when
// all such functions have returned; f must not call Do.
func (s *Store) OnReload(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onReload = append(s.onReload, f)
}

var sqlName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// register reserves a name for a table, log, index ("table.index") or command.
func (s *Store) register(name string) {
	if s.phase != phaseNew {
		panic(fmt.Sprintf("store: %s registered after Open", name))
	}
	if table, _, isIndex := strings.Cut(name, "."); !sqlName.MatchString(table) && !isIndex {
		panic(fmt.Sprintf("store: %q is no table name: lower case letters, digits and _, at most 48", name))
	}
	if strings.HasPrefix(name, "muster_") {
		panic(fmt.Sprintf("store: %q: names that begin with muster_ are the drivers' own", name))
	}
	if s.names[name] {
		panic(fmt.Sprintf("store: %s registered twice", name))
	}
	s.names[name] = true
}

// reserved are the columns that every table has.
var reserved = []string{"key", "doc", "seq", "time", "cell", "archived_at", "expires_at"}

func checkColumn(table, column string) {
	if !sqlName.MatchString(column) || slices.Contains(reserved, column) {
		panic(fmt.Sprintf("store: %q is no column name for %s", column, table))
	}
}

func (s *Store) addSlot() int {
	s.slots++
	return s.slots - 1
}

func (s *Store) tablesByName() []tableMember {
	return slices.SortedFunc(slices.Values(s.tables), func(a, b tableMember) int {
		return strings.Compare(a.name(), b.name())
	})
}

func (s *Store) schema() Schema {
	var schema Schema
	for _, t := range s.tables {
		schema.Tables = append(schema.Tables, t.schema())
	}
	for _, l := range s.journals {
		schema.Logs = append(schema.Logs, l.schema())
	}
	return schema
}

// open returns the database if it is open.
func (s *Store) open() (DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil, fmt.Errorf("store is not open")
	}
	return s.db, nil
}

func stack() []byte { return debug.Stack() }

// clock returns moments that never go backwards. If the wall clock was set back, it
// continues from the last moment at the pace of the monotonic clock.
type clock struct {
	last time.Time // the last one returned: UTC, milliseconds
	read time.Time // when that was, with the monotonic reading
}

func (c *clock) now() time.Time {
	read := time.Now()
	now := read.UTC().Truncate(time.Millisecond)
	if now.Before(c.last) {
		now = c.last.Add(read.Sub(c.read)).Truncate(time.Millisecond)
	}
	c.last, c.read = now, read
	return now
}
