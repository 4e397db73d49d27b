package store

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

type changeKind uint8

const (
	changePut changeKind = iota
	changeDelete
	changeArchive
	changeAppend
)

// change is one effect of a command.
type change struct {
	member member
	kind   changeKind
	key    string
	row    any    // *V: the new row; for deletes and archives the old one
	old    any    // *V, possibly nil: what it replaced
	number uint64 // of a log entry
}

// member is a table or a log as the journal uses it.
type member interface {
	name() string
	undo(key string, old any)
	encode(row any) ([]byte, error)
	columns(row any) []string
	columnsOf(doc []byte) ([]string, error)
	stores(want, found []string) bool
	redo(tx *Tx, ch recordChange) error
}

// rows are the changes of a command in their stored form. They are encoded once,
// either by the command's caller, which has nothing else to do while earlier groups
// become durable, or by the journal.
type rows struct {
	once sync.Once
	list []StoredRow // one per change; empty for deletes
	err  error
}

// encode encodes the changes of a command. The functions that compute columns and
// documents belong to the tables: if one panics, the command's group fails instead of
// the program.
func (r *rows) encode(changes []change, now time.Time) ([]StoredRow, error) {
	r.once.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				r.err = &PanicError{Value: p, Stack: stack()}
			}
		}()
		r.list = make([]StoredRow, len(changes))
		for i, ch := range changes {
			if ch.kind == changeDelete {
				continue
			}
			if r.list[i], r.err = stored(ch, now); r.err != nil {
				return
			}
		}
	})
	return r.list, r.err
}

// group is the set of commands that one SQL transaction makes durable.
type group struct {
	commands []*Tx // they have run on the head
	changed  bool
	sealed   *Snapshot       // the state after its last command
	answer   chan struct{}   // closed when the outcome is known
	late     <-chan struct{} // closed if the database becomes unavailable while the group waits
	err      error           // the outcome, once answer is closed
}

func newGroup(late <-chan struct{}) *group { return &group{answer: make(chan struct{}), late: late} }

// queue holds the groups whose outcome is not known yet. The store's mu guards it.
type queue struct {
	filling *group   // takes commands
	sealed  []*group // wait for the journal
	flying  *group   // is being committed
	pending int      // commands in all of them
}

// seal closes the filling group; state is the one after its last command.
func (q *queue) seal(state *Snapshot) {
	q.filling.sealed = state
	q.sealed = append(q.sealed, q.filling)
	q.filling = nil
}

// take moves the first sealed group to the journal; nil if there is none.
func (q *queue) take() *group {
	if len(q.sealed) == 0 {
		return nil
	}
	q.flying = q.sealed[0]
	q.sealed[0] = nil
	q.sealed = q.sealed[1:]
	return q.flying
}

// latest returns the last group, or nil.
func (q *queue) latest() *group {
	if q.filling != nil {
		return q.filling
	}
	if n := len(q.sealed); n > 0 {
		return q.sealed[n-1]
	}
	return q.flying
}

// drop empties the queue and returns the groups that the journal has not taken.
func (q *queue) drop() []*group {
	void := q.sealed
	if q.filling != nil {
		void = append(void, q.filling)
	}
	q.sealed, q.filling = nil, nil
	return void
}

// settle removes a group whose outcome is known.
func (q *queue) settle(g *group) {
	if q.flying == g {
		q.flying = nil
	}
	q.pending -= len(g.commands)
}

// batchBuilder folds the changes of a group into net changes: the last write of a row
// wins; archived rows and log entries are all kept. The next group uses its memory again.
type batchBuilder struct {
	durable *Snapshot        // the state before the group
	tables  []TableBatch     // by number
	logs    []LogBatch       // by number
	settled map[rowName]bool // rows whose last write has been seen
	changes int              // added
}

// mostKept is how many changes a builder keeps memory for.
const mostKept = 1024

// reset empties the builder, so that it refers to no rows.
func (b *batchBuilder) reset() {
	if b.changes > mostKept {
		*b = batchBuilder{}
	}
	b.durable, b.changes = nil, 0
	clear(b.settled)
	for i := range b.tables {
		tb := &b.tables[i]
		tb.Deletes, tb.Puts, tb.Archives = emptied(tb.Deletes), emptied(tb.Puts), emptied(tb.Archives)
	}
	for i := range b.logs {
		b.logs[i].Entries = emptied(b.logs[i].Entries)
	}
}

func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

type rowName struct {
	member   member
	key      string
	archived bool
}

// build returns the batch of a group, relative to the published state. It is valid until
// reset.
func (b *batchBuilder) build(g *group, fence Fence, durable *Snapshot) (*Batch, error) {
	last := g.commands[len(g.commands)-1]
	if b.settled == nil {
		b.tables, b.logs = make([]TableBatch, len(durable.catalog.tables)), make([]LogBatch, len(durable.catalog.logs))
		b.settled = map[rowName]bool{}
	}
	b.durable = durable
	for _, c := range slices.Backward(g.commands) {
		written, err := c.rows.encode(c.changes, c.now)
		if err != nil {
			return nil, err
		}
		for i, ch := range slices.Backward(c.changes) {
			b.add(ch, written[i])
		}
	}
	batch := &Batch{Fence: fence, Seq: g.sealed.seq, Now: last.now}
	b.finish(batch, g.sealed)
	return batch, nil
}

// add folds in a change; changes are added latest first.
func (b *batchBuilder) add(ch change, row StoredRow) {
	b.changes++
	if log, ok := ch.member.(logMember); ok {
		lb := &b.logs[log.ordinal()]
		lb.Entries = append(lb.Entries, StoredEntry{Seq: ch.number, Time: row.Time, Doc: row.Doc, Columns: row.Columns})
		return
	}
	table := ch.member.(tableMember)
	tb := &b.tables[table.ordinal()]
	if ch.kind == changeArchive && b.settle(ch, true) {
		ended := row
		ended.New = table.isNew(ch.key)
		tb.Archives = append(tb.Archives, ended)
	}
	if !b.settle(ch, false) {
		return
	}
	if ch.kind != changePut {
		tb.Deletes = append(tb.Deletes, ch.key)
		return
	}
	var found, vacates bool
	found, row.Same, vacates = table.compare(b.durable, ch.key, row.Columns)
	row.New = !found || vacates
	tb.Puts = append(tb.Puts, row)
	if vacates {
		tb.Deletes = append(tb.Deletes, ch.key)
	}
}

// settle records the write of a row and reports whether it is the row's last in the
// group.
func (b *batchBuilder) settle(ch change, archived bool) bool {
	name := rowName{ch.member, ch.key, archived}
	if b.settled[name] {
		return false
	}
	b.settled[name] = true
	return true
}

func stored(ch change, now time.Time) (StoredRow, error) {
	doc, err := ch.member.encode(ch.row)
	if err != nil {
		return StoredRow{}, fmt.Errorf("encode %s %q: %w", ch.member.name(), ch.key, err)
	}
	return StoredRow{Key: ch.key, Doc: doc, Columns: ch.member.columns(ch.row), Time: now}, nil
}

// finish restores the order in which changes happened and adds what was changed to the batch.
func (b *batchBuilder) finish(batch *Batch, sealed *Snapshot) {
	for i, tb := range b.tables {
		if len(tb.Deletes)+len(tb.Puts)+len(tb.Archives) > 0 {
			slices.Reverse(tb.Deletes)
			slices.Reverse(tb.Puts)
			slices.Reverse(tb.Archives)
			tb.Table = i
			batch.Tables = append(batch.Tables, tb)
		}
	}
	for i, lb := range b.logs {
		lb.Log = i
		switch {
		case len(lb.Entries) > 0:
			slices.Reverse(lb.Entries)
			batch.Logs = append(batch.Logs, lb)
		case sealed.last[i] != b.durable.last[i]:
			lb.Skipped = sealed.last[i]
			batch.Logs = append(batch.Logs, lb)
		}
	}
}
