package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// ended knows which keys may be in a table's archive, so that a look-up of a key that is
// not there needs no query. The first look-up starts building it; until it has been built,
// SQL is asked.
//
// It never lacks a key that a reader may rely on. Each key that this owner archives is
// added before the commit is published, and those archived earlier are read from SQL.
// When the state is read again, and when this owner learns that another has the cell, it is
// discarded.
type ended struct {
	all   atomic.Pointer[filter] // has all keys of the archive; nil: ask SQL
	fresh atomic.Bool            // it need not be built, or that has begun

	mu     sync.Mutex
	next   *filter // lacks keys that are still being read; nil: none is being built
	enough int     // additions to all after which it is built again
}

const (
	endedAtOnce  = 10_000      // keys that one query reads
	endedBetween = 1 << 15     // fewest additions between two buildings
	endedAgain   = time.Minute // from a failure to the next attempt
)

// add adds a key that was archived. When most keys may have expired, it lets the next
// look-up build the filter again.
func (e *ended) add(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.all.Load(); f != nil {
		f.add(key)
		if f.added == e.enough {
			e.fresh.Store(false)
		}
	}
	if e.next != nil {
		e.next.add(key)
	}
}

// discard forgets all keys.
func (e *ended) discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all.Store(nil)
	e.next = nil
	e.fresh.Store(false)
}

// begin returns a filter to build, or nil if none has to be built.
func (e *ended) begin() *filter {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fresh.Swap(true) || e.next != nil {
		return nil
	}
	e.next = newFilter()
	return e.next
}

// fill adds keys that were read to the filter that is being built, and reports whether it
// is still wanted.
func (e *ended) fill(f *filter, keys []string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next != f {
		return false
	}
	for _, key := range keys {
		f.add(key)
	}
	return true
}

// finish uses a filter that has all keys.
func (e *ended) finish(f *filter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == f {
		e.next, e.enough = nil, f.added+max(f.added, endedBetween)
		e.all.Store(f)
	}
}

// fail discards a filter that is being built. The next attempt may begin after retry.
func (e *ended) fail(f *filter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == f {
		e.next = nil
	}
}

func (e *ended) retry() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil {
		e.fresh.Store(false)
	}
}

// narrow removes keys from a query of which no row is archived. It reports whether the
// query then finds nothing.
func (t *table) narrow(q *Query) (nothing bool) {
	exact := slices.IndexFunc(q.Where, func(eq Eq) bool { return eq.Column == "key" })
	if q.Keys == nil && exact < 0 {
		return false
	}
	if !t.ended.fresh.Load() {
		t.readEnded()
	}
	f := t.ended.all.Load()
	if f == nil {
		return false
	}
	lacks := func(key string) bool { return utf8.ValidString(key) && !f.has(key) } // SQL has other bytes replaced
	if exact >= 0 && lacks(q.Where[exact].Value) {
		return true
	}
	if q.Keys == nil {
		return false
	}
	q.Keys = slices.DeleteFunc(slices.Clone(q.Keys), lacks)
	return len(q.Keys) == 0
}

// isNew reports whether it is known that no row with a key is archived. The journal calls it
// for a row that is to be archived.
func (t *table) isNew(key string) bool {
	if !t.ended.fresh.Load() {
		t.readEnded()
	}
	f := t.ended.all.Load()
	return f != nil && utf8.ValidString(key) && !f.has(key)
}

// noteEnded adds the keys of rows that a command archived, which is durable.
func (tx *Tx) noteEnded() {
	for _, c := range tx.changes {
		if t, ok := c.member.(*table); ok && c.kind == changeArchive {
			t.ended.add(c.key)
		}
	}
}

// discardEnded discards what is known about archives.
func (c *catalog) discardEnded() {
	for _, t := range c.tables {
		if t, ok := t.(*table); ok {
			t.ended.discard()
		}
	}
}

// readEnded starts reading the keys of the archive, if the store is open and that is not
// being done.
func (t *table) readEnded() {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseOpen {
		return
	}
	if f := t.ended.begin(); f != nil {
		s.running.Go(func() { t.buildEnded(f) })
	}
}

func (t *table) buildEnded(f *filter) {
	err := t.readKeys(f)
	if err == nil {
		t.ended.finish(f)
		return
	}
	t.ended.fail(f)
	if errors.Is(err, errStopping) {
		return
	}
	t.store.log.Warn("keys of an archive not read", "table", t.label, "error", err)
	select {
	case <-t.store.stop:
	case <-t.store.lost:
	case <-time.After(endedAgain):
		t.ended.retry()
	}
}

var errStopping = errors.New("the store is being closed")

// readKeys adds all archived keys to a filter that is being built. Rows that are archived
// during that may come before those read last, and are added by the journal.
func (t *table) readKeys(f *filter) error {
	for after := ""; ; {
		if t.store.journal.stopping() {
			return errStopping
		}
		keys, err := ask(context.Background(), t.store, func(ctx context.Context, db DB) ([]string, error) {
			return db.ArchivedKeys(ctx, t.number, after, endedAtOnce)
		})
		if err != nil || !t.ended.fill(f, keys) || len(keys) < endedAtOnce {
			return err
		}
		after = keys[len(keys)-1]
	}
}
