package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// LogSpec says how the entries of a log are kept.
type LogSpec[V any] struct {
	Name      string
	Columns   []Column[V]   // columns to select by; Unique has no meaning in a log
	Retention time.Duration // of entries; zero keeps them forever
}

// Log is an append-only sequence of entries. It lives in SQL, not in memory, and is
// read by cursor.
type Log[V any] struct{ core *log }

// log is a Log without the type of its entries.
type log struct {
	documents
	retention time.Duration
	hold      hold
	head      uint64

	mu       sync.Mutex
	watchers map[wake.Nudge]struct{}
}

// LogQuery selects entries, in the order of their numbers.
type LogQuery struct {
	Where    []Eq      // all must hold; columns of the log
	AfterSeq uint64    // continue strictly after this number in the query's direction; 0 starts at the beginning
	From, To time.Time // From <= time < To; zero is open
	Desc     bool      // latest first
	Limit    int       // 1 to 1000
}

// Entry is one entry of a log.
type Entry[V any] struct {
	Seq   uint64    // increases in the order of commits
	Time  time.Time // Now of the command that appended it
	Value *V
}

// NewLog registers a log, before Open. It panics if the name is taken or not an SQL
// name.
func NewLog[V any](s *Store, spec LogSpec[V]) *Log[V] {
	l := &log{
		documents: newDocuments(s, spec.Name, len(s.catalog.logs), spec.Columns),
		retention: spec.Retention, watchers: map[wake.Nudge]struct{}{},
	}
	l.register()
	s.catalog.logs = append(s.catalog.logs, l)
	return &Log[V]{l}
}

// Append adds an entry and returns its number. v belongs to the store from then on.
func (l *Log[V]) Append(tx *Tx, v *V) uint64 { return l.core.append(tx, v) }

func (l *log) append(tx *Tx, v any) uint64 {
	tx.check(l.store)
	l.head++
	tx.note(change{member: l, kind: changeAppend, row: v, number: l.head})
	return l.head
}

// Last returns the number of the last entry, or 0 if there is none.
func (l *Log[V]) Last(r Reader) uint64 { return l.core.lastIn(r) }

func (l *log) lastIn(r Reader) uint64 {
	if last := r.logs(); last != nil {
		return last[l.number]
	}
	return l.head
}

// Read reads committed entries.
func (l *Log[V]) Read(ctx context.Context, q LogQuery) ([]Entry[V], error) {
	stored, err := l.core.read(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", l.core.label, err)
	}
	entries := make([]Entry[V], len(stored))
	for i, e := range stored {
		v, err := l.core.decode(e.Doc)
		if err != nil {
			return nil, fmt.Errorf("decode %s %d: %w", l.core.label, e.Seq, err)
		}
		entries[i] = Entry[V]{Seq: e.Seq, Time: e.Time, Value: typed[V](v)}
	}
	return entries, nil
}

func (l *log) read(ctx context.Context, q LogQuery) ([]StoredEntry, error) {
	if err := checkQuery(q.Limit, q.Where, "", l.fields); err != nil {
		return nil, err
	}
	return ask(ctx, l.store, func(ctx context.Context, db DB) ([]StoredEntry, error) { return db.Entries(ctx, l.number, q) })
}

// Watch returns a channel that receives a value after commits that appended, and a
// function that ends the watch. Several commits may share one value: it only means
// that there is something to read.
func (l *Log[V]) Watch() (<-chan struct{}, func()) { return l.core.watch() }

func (l *log) watch() (<-chan struct{}, func()) {
	ch := wake.NewNudge()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers[ch] = struct{}{}
	return ch, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, ch)
	}
}

// hold says which expired entries are kept for longer.
type hold struct {
	done    func(Reader) uint64 // nil: none are
	longest time.Duration
}

// Hold keeps entries whose number is above what done returns past their retention, for
// longest after they were appended at most. It must be called before Open, once.
func (l *Log[V]) Hold(done func(Reader) uint64, longest time.Duration) {
	l.core.hold = hold{done, longest}
}

// expired returns the time of the newest entries that may be removed now; zero for none.
func (l *log) expired(ctx context.Context, now time.Time, db DB) (time.Time, error) {
	if l.retention <= 0 {
		return time.Time{}, nil
	}
	before := now.Add(-l.retention)
	if l.hold.done == nil {
		return before, nil
	}
	waiting, err := db.Entries(ctx, l.number, LogQuery{AfterSeq: l.hold.done(l.store.View()), Limit: 1})
	if err != nil || len(waiting) == 0 || waiting[0].Time.After(before) {
		return before, err
	}
	before = waiting[0].Time.Add(-time.Millisecond) // times are stored in milliseconds
	if last := now.Add(-l.hold.longest); before.Before(last) {
		return last, nil
	}
	return before, nil
}

func (l *log) nudge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch := range l.watchers {
		ch.Send()
	}
}

func (l *log) undo(string, any) { l.head-- }

func (l *log) last() uint64 { return l.head }

func (l *log) schema() LogSchema {
	return LogSchema{Name: l.label, Columns: l.fields, Retention: l.retention}
}

func (l *log) adopt(sn *Snapshot) { l.resume(sn.last[l.number]) }

func (l *log) resume(last uint64) { l.head = last }
