package store

import (
	"fmt"
	"log/slog"
	"runtime/debug"
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
	Confirmed  func() uint64         // the last sequence of the cell that this node knows was confirmed; nil knows none
	Record     string                // file to record commands to; "" records nothing
}

// Store is a cell's state and its only writer. Register tables, indexes, logs and
// commands on it, then Open it; a store is opened once.
type Store struct {
	opts       Options
	log        *slog.Logger
	rowOptions json.Options
	catalog    catalog
	attest     func(*Tx, jsontext.Value) // or nil

	published atomic.Pointer[Snapshot]
	level     atomic.Int64 // feature.Level of the cell; 0 before Open
	outage    outage
	lost      chan struct{}
	wake      wake.Nudge    // for the journal
	stop      chan struct{} // closed by Close
	stopOnce  sync.Once
	running   sync.WaitGroup
	journal   journal
	yields    yields

	mu       sync.Mutex // guards all below
	db       DB
	prepared DB        // connected before Open; nil: Open connects
	followed *follower // nil before Follow
	phase    phase
	head     head
	queue    queue
	onReload []func()
	onLost   []func(*Tx, LostCommits) // fixed once the store is opened
	reading  *reading                 // nil except in phaseReloading
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

// New returns a store. It panics without a driver.
func New(opts Options) *Store {
	if opts.Driver == nil {
		panic("store: Options.Driver is required")
	}
	opts.setDefaults()
	s := &Store{
		opts:       opts,
		log:        opts.Logger.With("component", "store", "cell", opts.Cell),
		rowOptions: rowOptions(),
		catalog:    newCatalog(),
		lost:       make(chan struct{}),
		wake:       wake.NewNudge(),
		stop:       make(chan struct{}),
	}
	s.outage = newOutage(s.log)
	s.journal = journal{outage: &s.outage, log: s.log, stop: s.stop}
	s.head.catalog = &s.catalog
	return s
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
