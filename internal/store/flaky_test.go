package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store"
)

// flaky is a memory driver whose commits fail as a test determines.
type flaky struct {
	*store.Memory
	mu     sync.Mutex
	commit func(do func() error) error // nil means do()
	rest   error                       // if not nil, everything else returns it
	loads  int                         // how often the whole state was read
}

func (f *flaky) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := f.Memory.Open(ctx, cell, schema)
	return &flakyDB{DB: db, flaky: f}, err
}

func (f *flaky) Connect(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := f.Memory.Connect(ctx, cell, schema)
	return &flakyDB{DB: db, flaky: f}, err
}

// set determines what the next commits do; with nil they succeed.
func (f *flaky) set(commit func(do func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commit = commit
}

type flakyDB struct {
	store.DB
	*flaky
}

func (db *flakyDB) Commit(ctx context.Context, b *store.Batch) error {
	db.mu.Lock()
	commit := db.commit
	db.mu.Unlock()
	sent := *b // later changes of b must not affect it
	do := func() error { return db.DB.Commit(ctx, &sent) }
	if commit == nil {
		return do()
	}
	return commit(do)
}

// fail makes everything but commits fail with err; nil ends that.
func (f *flaky) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = err
}

func (f *flaky) failing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rest
}

func (db *flakyDB) Renew(ctx context.Context, owner string) (store.Fence, error) {
	if err := db.failing(); err != nil {
		return store.Fence{}, err
	}
	return db.DB.Renew(ctx, owner)
}

func (db *flakyDB) Load(ctx context.Context, row func(int, string, []byte) error) (store.State, error) {
	if err := db.failing(); err != nil {
		return store.State{}, err
	}
	db.mu.Lock()
	db.loads++
	db.mu.Unlock()
	return db.DB.Load(ctx, row)
}

func (db *flakyDB) Changes(ctx context.Context, since store.State) (store.Changes, error) {
	if err := db.failing(); err != nil {
		return store.Changes{}, err
	}
	return db.DB.(interface {
		Changes(context.Context, store.State) (store.Changes, error)
	}).Changes(ctx, since)
}

// loaded returns how often the whole state was read.
func (f *flaky) loaded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads
}

func (db *flakyDB) Entries(ctx context.Context, log int, q store.LogQuery) ([]store.StoredEntry, error) {
	if err := db.failing(); err != nil {
		return nil, err
	}
	return db.DB.Entries(ctx, log, q)
}

// nextCommit makes only the next commit behave as given.
func (f *flaky) nextCommit(behave func(do func() error) error) {
	f.set(func(do func() error) error {
		f.set(nil)
		return behave(do)
	})
}

// unreachable makes the driver behave like a database that refuses connections.
func (f *flaky) unreachable() {
	f.fail(errRefused)
	f.set(func(func() error) error { return errRefused })
}

// back ends unreachable.
func (f *flaky) back() {
	f.fail(nil)
	f.set(nil)
}

// Errors of a database and its connection.
var (
	errDisk    = errors.New("disk on fire")
	errRefused = fmt.Errorf("connection refused: %w", store.ErrTransient)
	errCut     = fmt.Errorf("connection reset: %w", store.ErrInDoubt)
)

// openFlaky opens a harbour on a flaky driver.
func openFlaky(t *testing.T, o store.Options) (*flaky, *harbour) {
	t.Helper()
	driver := &flaky{Memory: store.NewMemory()}
	o.Driver = driver
	return driver, openHarbour(t, o)
}
