package serversdk_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/musterhq/muster/internal/store"
)

// gate is a memory driver whose commits can be held back, or made to fail.
type gate struct {
	*store.Memory
	failing atomic.Bool
	mu      sync.Mutex
	held    chan struct{} // nil while commits pass; closed to release them
}

// openGate returns a gate that lets every commit pass.
func openGate() *gate { return &gate{Memory: store.NewMemory()} }

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.held)
	g.held = nil
}

func (g *gate) wait() {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (g *gate) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := g.Memory.Open(ctx, cell, schema)
	return &gatedDB{db, g}, err
}

type gatedDB struct {
	store.DB
	gate *gate
}

var errDisk = errors.New("disk gone")

func (d *gatedDB) Commit(ctx context.Context, b *store.Batch) error {
	d.gate.wait()
	if d.gate.failing.Load() {
		return errDisk
	}
	return d.DB.Commit(ctx, b)
}
