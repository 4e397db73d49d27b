//go:build unix

package sqlite_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// BenchmarkCommit writes the rows of 20 new game sessions and 20 activations: two
// tables, each with a unique column, and a log of two columns. It reports the processor
// time of the process too, which varies less than the time that passes.
func BenchmarkCommit(b *testing.B) {
	w := openWriter(b)
	w.idle = w.processes()
	w.commit(store.TableBatch{Table: 1, Puts: w.idle})
	used := -processorTime(b)
	for b.Loop() {
		if w.made > 0 && w.made%hosted == 0 {
			b.StopTimer()
			used += processorTime(b)
			w.end()
			used -= processorTime(b)
			b.StartTimer()
		}
		w.next()
	}
	used += processorTime(b)
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// processorTime returns how long the process has used processors.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

const (
	hosted  = 4000 // processes
	atOnce  = 20   // game sessions per commit
	gameARN = "arn:aws:gamelift:us-east-1::gamesession/fleet-01a1ff21-5788-7000-a97a-edd1af3c55b6/custom-local/gsess-01a1ff21-%012d"
)

// writer writes game sessions to processes, one each.
type writer struct {
	b     *testing.B
	db    store.DB
	batch store.Batch
	doc   []byte
	idle  []store.StoredRow
	made  int // game sessions so far
}

func openWriter(b *testing.B) *writer {
	db, err := sqlite.New(b.TempDir()).Open(b.Context(), "cell", store.Schema{
		Tables: []store.TableSchema{
			{Name: "game", Columns: []store.ColumnSchema{{Name: "process", Unique: true}}},
			{Name: "process", Columns: []store.ColumnSchema{{Name: "game", Unique: true}}},
		},
		Logs: []store.LogSchema{{Name: "event", Columns: []store.ColumnSchema{{Name: "game"}, {Name: "fleet"}}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	fence, err := db.Take(b.Context(), "owner")
	if err != nil {
		b.Fatal(err)
	}
	doc := []byte(`{"text": "` + strings.Repeat("x", 600) + `"}`)
	return &writer{b: b, db: db, batch: store.Batch{Fence: fence, Now: time.Now()}, doc: doc}
}

func (w *writer) processes() (rows []store.StoredRow) {
	for i := range hosted {
		rows = append(rows, store.StoredRow{Key: processOf(i), Doc: w.doc, Columns: []string{""}})
	}
	return rows
}

func gameOf(i int) string { return fmt.Sprintf(gameARN, i) }

func processOf(i int) string {
	return fmt.Sprintf("fleet-01a1ff21-5788-7000-a97a-edd1af3c55b6/host-%d/process-%d", i%hosted%100, i%hosted)
}

func (w *writer) commit(tables ...store.TableBatch) {
	w.batch.Seq++
	w.batch.Tables = tables
	if err := w.db.Commit(w.b.Context(), &w.batch); err != nil {
		w.b.Fatal(err)
	}
	w.batch.Fence.Seq, w.batch.Logs = w.batch.Seq, nil
}

// next creates game sessions and activates those created before.
func (w *writer) next() {
	var games, taken []store.StoredRow
	var events []store.StoredEntry
	for i := max(w.made-atOnce, w.made/hosted*hosted); i < w.made+atOnce; i++ {
		games = append(games, store.StoredRow{Key: gameOf(i), Doc: w.doc, Columns: []string{processOf(i)}, New: i >= w.made, Same: i < w.made})
		if i >= w.made {
			taken = append(taken, store.StoredRow{Key: processOf(i), Doc: w.doc, Columns: []string{gameOf(i)}})
		}
		number := uint64(2*w.made + len(events) + 1)
		events = append(events, store.StoredEntry{Seq: number, Time: w.batch.Now, Doc: w.doc[:300], Columns: []string{gameOf(i), ""}})
	}
	w.made += atOnce
	w.batch.Logs = []store.LogBatch{{Entries: events}}
	w.commit(store.TableBatch{Table: 0, Puts: games}, store.TableBatch{Table: 1, Puts: taken})
}

// end ends all game sessions: their processes are used up.
func (w *writer) end() {
	var gone []string
	for i := w.made - hosted; i < w.made; i++ {
		gone = append(gone, gameOf(i))
	}
	w.commit(store.TableBatch{Table: 0, Deletes: gone}, store.TableBatch{Table: 1, Puts: w.idle})
}
