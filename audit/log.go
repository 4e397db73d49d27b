package audit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
)

// Level determines which requests are recorded.
type Level string

// The levels.
const (
	Operators Level = "operators" // all except game traffic, the requests of games themselves
	All       Level = "all"       // including game traffic
	Off       Level = "off"       // nothing
)

// Options configure a Log.
type Options struct {
	Level      Level         // default Operators
	Retention  time.Duration // how long records are kept; default 90 days
	Sink       Sink          // where records are exported to (Export); may be nil
	Logger     *slog.Logger  // nil discards
	Registerer prometheus.Registerer
}

// DefaultRetention is how long records are kept by default.
const DefaultRetention = 90 * 24 * time.Hour

// slack is how much longer than Options.Retention the store keeps records, so that the
// chain's beginning moves before they are removed.
const slack = 24 * time.Hour

// Log is the audit log of a cell.
type Log struct {
	opts   Options
	store  *store.Store
	log    *store.Log[Record]
	chain  *store.Table[Chain]
	append *store.Action[[]Record]
	anchor *store.Action[Chain]
	*queue
	*exports
}

// Chain is the beginning and the end of the records. It is part of the state.
type Chain struct {
	ID     string `json:"id"`     // always chainID
	Seq    uint64 `json:"seq"`    // of the last record
	Hash   string `json:"hash"`   // of the last record
	From   uint64 `json:"from"`   // the first record that must exist
	Before string `json:"before"` // its Previous
}

const chainID = "chain"

// Entry is a record with its position in the log.
type Entry = store.Entry[Record]

// New registers the log with the store.
func New(st *store.Store, o Options) *Log {
	o.Level = cmp.Or(o.Level, Operators)
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l := &Log{opts: o, store: st, queue: newQueue(o.Registerer)}
	l.log = store.NewLog(st, store.LogSpec[Record]{
		Name: "audit", Retention: o.Retention + slack,
		Columns: []store.Column[Record]{
			{Name: "key_id", Value: func(r *Record) string { return r.KeyID }},
			{Name: "action", Value: func(r *Record) string { return r.Action }},
		},
	})
	l.chain = store.NewTable(st, store.TableSpec[Chain]{Name: "audit_chain", Key: func(c *Chain) string { return c.ID }})
	l.append = store.NewAction(st, "audit.append", l.runAppend)
	l.anchor = store.NewAction(st, "audit.anchor", l.runAnchor)
	l.exports = newExports(l)
	st.OnCause(l.attest)
	return l
}

// attest appends the record of a request within a command that it caused.
func (l *Log) attest(tx *store.Tx, cause jsontext.Value) {
	var r Record
	if err := json.Unmarshal(cause, &r); err != nil {
		panic(fmt.Sprintf("audit: the cause of a command is no record: %v", err)) // Request.Describe wrote it
	}
	r.Resources = resources(append(r.Resources, tx.Concerned()...))
	r.Outcome = OK
	l.add(tx, r)
}

func (l *Log) runAppend(tx *store.Tx, records []Record) error {
	for _, r := range records {
		l.add(tx, r)
	}
	return nil
}

// add appends a record and updates the end of the chain.
func (l *Log) add(tx *store.Tx, r Record) {
	next := Chain{ID: chainID, From: 1}
	if c := l.chain.Get(tx, chainID); c != nil {
		next = *c
	}
	r.Time, r.Previous = tx.Now(), next.Hash
	next.Seq = l.log.Append(tx, &r)
	next.Hash = digest(next.Seq, &r)
	l.chain.Put(tx, &next)
}

// runAnchor moves the beginning of the chain forward, if to is after it.
func (l *Log) runAnchor(tx *store.Tx, to Chain) error {
	if c := l.chain.Get(tx, chainID); c != nil && to.From > c.From {
		next := *c
		next.From, next.Before = to.From, to.Before
		l.chain.Put(tx, &next)
	}
	return nil
}

// Anchor moves the beginning of the chain to the first record that is not older than
// the retention, so that the store may remove those before it.
func (l *Log) Anchor(ctx context.Context, now time.Time) error {
	c := l.chain.Get(l.store.View(), chainID)
	if c == nil {
		return nil
	}
	first, err := l.log.Read(ctx, store.LogQuery{From: now.Add(-l.opts.Retention), Limit: 1})
	if err != nil {
		return err
	}
	to := Chain{From: c.Seq + 1, Before: c.Hash} // all records are older
	if len(first) > 0 {
		to = Chain{From: first[0].Seq, Before: first[0].Value.Previous}
	}
	if to.From <= c.From {
		return nil
	}
	return l.anchor.Do(ctx, to)
}

// Query selects the records to read.
type Query struct {
	KeyID  string
	Action string
	Since  time.Time // only records from this time on
	After  uint64    // only records after this number, in reading order; 0 means from the first
	Newest bool      // newest first
	Limit  int       // 1 to 1000
}

// Read returns the records that q selects.
func (l *Log) Read(ctx context.Context, q Query) ([]Entry, error) {
	var where []store.Eq
	if q.KeyID != "" {
		where = append(where, store.Eq{Column: "key_id", Value: q.KeyID})
	}
	if q.Action != "" {
		where = append(where, store.Eq{Column: "action", Value: q.Action})
	}
	return l.log.Read(ctx, store.LogQuery{Where: where, AfterSeq: q.After, From: q.Since, Desc: q.Newest, Limit: q.Limit})
}

// resources returns each name once, at most maxResources.
func resources(names []string) []string {
	var out []string
	for _, name := range names {
		if len(out) < maxResources && name != "" && !slices.Contains(out, name) {
			out = append(out, text(name, maxText))
		}
	}
	return out
}
