package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Report is the result of Verify.
type Report struct {
	Cell     string        `json:"cell"`
	Fence    Fence         `json:"fence"`
	Digest   string        `json:"digest"` // of the live rows, "" if some do not decode
	Tables   []TableReport `json:"tables"`
	Logs     []LogReport   `json:"logs"`
	Problems []string      `json:"problems"` // at most 100; empty if there are none
}

// TableReport counts the rows of a table.
type TableReport struct {
	Name     string `json:"name"`
	Live     int    `json:"live"`
	Archived int    `json:"archived"`
}

// LogReport counts the entries of a log.
type LogReport struct {
	Name    string `json:"name"`
	Entries int    `json:"entries"`
	Last    uint64 `json:"last"` // number assigned last
}

// maxProblems is the most problems in a report.
const maxProblems = 100

// Verify reads everything stored. The store need not be open, and its owner may keep
// running. Verify runs the engine's own integrity check, and checks that every document
// decodes, that keys and columns match the documents, that unique values are unique, and
// that the sequences are plausible. The error reports why reading failed;
// what was read and found wrong is in the report.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	db, err := s.opts.Driver.Inspect(ctx, s.opts.Cell, s.catalog.schema())
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	defer db.Close()
	a := newAudit(s)
	state, err := db.Dump(ctx, a.item)
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	a.finish(state)
	return a.report, nil
}

// audit is one reading by Verify.
type audit struct {
	store  *Store
	report Report
	state  *Snapshot // of the rows that decode
	bad    bool      // some do not decode
	unique map[string]string
	newest uint64   // highest sequence of a live row
	last   []uint64 // number read last, by log
}

func newAudit(s *Store) *audit {
	a := &audit{store: s, unique: map[string]string{}, last: make([]uint64, len(s.catalog.logs))}
	a.state = s.catalog.empty()
	a.report.Cell = s.opts.Cell
	for _, t := range s.catalog.tables {
		a.report.Tables = append(a.report.Tables, TableReport{Name: t.name()})
	}
	for _, l := range s.catalog.logs {
		a.report.Logs = append(a.report.Logs, LogReport{Name: l.name()})
	}
	return a
}

func (a *audit) problem(format string, args ...any) {
	if len(a.report.Problems) < maxProblems {
		a.report.Problems = append(a.report.Problems, fmt.Sprintf(format, args...))
	}
}

func (a *audit) item(it Item) error {
	switch it.Place {
	case Live:
		a.report.Tables[it.Number].Live++
		a.live(a.store.catalog.tables[it.Number], it)
	case Archive:
		a.report.Tables[it.Number].Archived++
		a.archived(a.store.catalog.tables[it.Number], it)
	case LogPart:
		a.report.Logs[it.Number].Entries++
		a.entry(a.store.catalog.logs[it.Number], it)
	}
	return nil
}

func (a *audit) live(t tableMember, it Item) {
	a.newest = max(a.newest, it.Seq)
	if err := t.load(a.state, it.Key, it.Doc); err != nil {
		a.bad = true
		a.problem("%v", err)
		return
	}
	a.columns(t, it)
	for i, c := range t.schema().Columns {
		if !c.Unique || i >= len(it.Columns) || it.Columns[i] == "" {
			continue
		}
		value := Key(t.name(), c.Name, it.Columns[i])
		if other, taken := a.unique[value]; taken {
			a.problem("%s %q and %q share %s %q", t.name(), other, it.Key, c.Name, it.Columns[i])
		}
		a.unique[value] = it.Key
	}
}

func (a *audit) archived(t tableMember, it Item) {
	key, err := t.keyOf(it.Doc)
	if err != nil {
		a.problem("archived %s %q: %v", t.name(), it.Key, err)
		return
	}
	if key != it.Key {
		a.problem("archived %s %q: its document says key %q", t.name(), it.Key, key)
	}
	if it.Expires.Before(it.Time) {
		a.problem("archived %s %q: it expires before it was archived", t.name(), it.Key)
	}
	a.columns(t, it)
}

func (a *audit) entry(l logMember, it Item) {
	if it.Seq <= a.last[it.Number] {
		a.problem("%s %d comes after %d", l.name(), it.Seq, a.last[it.Number])
	}
	a.last[it.Number] = it.Seq
	a.columns(l, it)
}

func (a *audit) columns(m member, it Item) {
	want, err := m.columnsOf(it.Doc)
	if err != nil {
		a.problem("%s %q %d: %v", m.name(), it.Key, it.Seq, err)
		return
	}
	if !m.stores(want, it.Columns) {
		a.problem("%s %s %q: columns are %q, its document says %q", it.Place, m.name(), it.Key, it.Columns, want)
	}
}

func (a *audit) finish(state State) {
	a.report.Fence = state.Fence
	if state.Fence.Epoch == 0 && a.newest > 0 {
		a.problem("rows are there, but no cell %q", a.store.opts.Cell)
	}
	if a.newest > state.Fence.Seq {
		a.problem("a row has sequence %d, the cell's is %d", a.newest, state.Fence.Seq)
	}
	for i := range a.report.Logs {
		a.report.Logs[i].Last = state.Last[i]
		if a.last[i] > state.Last[i] {
			a.problem("%s has entry %d, the last number given is %d", a.report.Logs[i].Name, a.last[i], state.Last[i])
		}
	}
	if !a.bad {
		a.report.Digest = a.state.Digest()
	}
}

func (t *table) keyOf(doc []byte) (string, error) {
	row, err := t.decode(doc)
	if err != nil {
		return "", fmt.Errorf("decode: %w", err)
	}
	return t.key(row), nil
}

// CheckReload compares what a new owner would read from SQL with what is in memory:
// rows, indexes, sequence and log numbers. No commands may run concurrently.
func (s *Store) CheckReload(ctx context.Context) error {
	if err := s.Update(ctx, func(*Tx) error { return nil }); err != nil {
		return fmt.Errorf("wait for writes: %w", err)
	}
	db, err := s.open()
	if err != nil {
		return err
	}
	stored, _, err := s.catalog.load(ctx, db)
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	return s.View().differs(stored)
}

// differs returns the differences between two snapshots, or nil.
func (sn *Snapshot) differs(other *Snapshot) error {
	var errs []error
	if sn.seq != other.seq {
		errs = append(errs, fmt.Errorf("sequence %d in memory, %d stored", sn.seq, other.seq))
	}
	if !slices.Equal(sn.last, other.last) {
		errs = append(errs, fmt.Errorf("log numbers %v in memory, %v stored", sn.last, other.last))
	}
	for _, t := range sn.catalog.tables {
		errs = append(errs, t.differs(sn, other))
	}
	return errors.Join(errs...)
}

func (t *table) differs(sn, other *Snapshot) error {
	mine, theirs := map[string]string{}, map[string]string{}
	collect := func(into map[string]string) func(string, []byte) error {
		return func(key string, doc []byte) error { into[key] = string(doc); return nil }
	}
	if err := errors.Join(t.each(sn, collect(mine)), t.each(other, collect(theirs))); err != nil {
		return err
	}
	for key, doc := range mine {
		if theirs[key] != doc {
			return fmt.Errorf("%s %q: %s in memory, %q stored", t.label, key, doc, theirs[key])
		}
	}
	for key := range theirs {
		if mine[key] == "" {
			return fmt.Errorf("%s %q: stored, not in memory", t.label, key)
		}
	}
	for _, d := range t.derived {
		if err := d.differs(sn, other); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the document of each row.
func (t *table) each(sn *Snapshot, f func(key string, doc []byte) error) (err error) {
	rowsIn(t, sn).Scan(func(e entry) bool {
		var doc []byte
		if doc, err = t.encode(e.row); err == nil {
			err = f(e.key, doc)
		}
		return err == nil
	})
	return err
}
