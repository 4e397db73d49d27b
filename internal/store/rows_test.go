package store_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// BenchmarkOpen reads 200,000 processes, 137,000 sessions and 274,000 player sessions
// from SQLite; heap-MB is the memory that they use.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	fillRows(b, dir, 200_000, 137_000)
	for b.Loop() {
		before := heap()
		start := time.Now()
		d := newBenchDomain(store.Options{Driver: sqlite.New(dir)})
		if err := d.Open(b.Context()); err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		rows := d.sessions.Len(d.View()) + d.processes.Len(d.View()) + d.players.Len(d.View())
		used := heap() - before
		b.ReportMetric(float64(used)/(1<<20), "heap-MB")
		b.ReportMetric(float64(used)/float64(rows), "heap-B/row")
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		d.Close()
	}
}

func fillRows(b *testing.B, dir string, processes, sessions int) {
	d := newBenchDomain(store.Options{Driver: sqlite.New(dir)})
	if err := d.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	d.addProcesses(b, processes)
	for n := 0; n < sessions; n += 1000 {
		err := d.Update(context.Background(), func(tx *store.Tx) error {
			for i := range 1000 {
				if _, err := d.runCreate(tx, n+i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
