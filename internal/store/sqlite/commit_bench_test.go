package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// BenchmarkCommit writes what 20 new game sessions and 20 activations write: two
// tables of 4,000 rows, each with a unique column, and a log of two columns.
func BenchmarkCommit(b *testing.B) {
	const rows, each = 4000, 20
	schema := store.Schema{
		Tables: []store.TableSchema{
			{Name: "game", Columns: []store.ColumnSchema{{Name: "process", Unique: true}}},
			{Name: "process", Columns: []store.ColumnSchema{{Name: "game", Unique: true}}},
		},
		Logs: []store.LogSchema{{Name: "event", Columns: []store.ColumnSchema{{Name: "game"}, {Name: "fleet"}}}},
	}
	db, err := sqlite.New(b.TempDir()).Open(b.Context(), "cell", schema)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	fence, err := db.Take(b.Context(), "owner")
	if err != nil {
		b.Fatal(err)
	}
	const home = "arn:aws:gamelift:us-east-1::gamesession/fleet-01a1ff21-5788-7000-a97a-edd1af3c55b6/custom-local/"
	doc := []byte(`{"text": "` + strings.Repeat("x", 600) + `"}`)
	game := func(i int) string { return fmt.Sprintf("%sgsess-01a1ff21-%012d", home, i) }
	process := func(i int) string {
		return fmt.Sprintf("fleet-01a1ff21-5788-7000-a97a-edd1af3c55b6/host-%d/process-%d", i%rows%100, i%rows)
	}
	batch := &store.Batch{Fence: fence, Seq: 1, Now: time.Now()}
	commit := func() {
		batch.Seq++
		if err := db.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		batch.Fence.Seq, batch.Tables, batch.Logs = batch.Seq, nil, nil
	}
	var idle []store.StoredRow
	for i := range rows {
		idle = append(idle, store.StoredRow{Key: process(i), Doc: doc, Columns: []string{""}})
	}
	batch.Tables = []store.TableBatch{{Table: 1, Puts: idle}}
	commit()
	made, seq := 0, uint64(0)
	for b.Loop() {
		if made > 0 && made%rows == 0 { // the processes are used up: their game sessions end
			b.StopTimer()
			gone := make([]string, rows)
			for i := range gone {
				gone[i] = game(made - rows + i)
			}
			batch.Tables = []store.TableBatch{{Table: 0, Deletes: gone}, {Table: 1, Puts: idle}}
			commit()
			b.StartTimer()
		}
		var games, processes []store.StoredRow
		var events []store.StoredEntry
		for i := max(made-each, made/rows*rows); i < made+each; i++ { // those before become ACTIVE
			games = append(games, store.StoredRow{Key: game(i), Doc: doc, Columns: []string{process(i)}, Same: i < made})
			if i >= made {
				processes = append(processes, store.StoredRow{Key: process(i), Doc: doc, Columns: []string{game(i)}})
			}
			seq++
			events = append(events, store.StoredEntry{Seq: seq, Time: batch.Now, Doc: doc[:300], Columns: []string{game(i), ""}})
		}
		made += each
		batch.Tables = []store.TableBatch{{Table: 0, Puts: games}, {Table: 1, Puts: processes}}
		batch.Logs = []store.LogBatch{{Entries: events}}
		commit()
	}
}
