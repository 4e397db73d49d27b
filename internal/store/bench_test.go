package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// The rows have the sizes of their counterparts in the product.
type benchSession struct {
	ID, Fleet, Location, Process, Status, Name string
	Created                                    time.Time
	Data                                       string
	Max, Current                               int
}

type benchProcess struct {
	ID, Fleet, Location, Compute, Status, Session string
	Port                                          int
	Started                                       time.Time
}

type benchPlayer struct {
	ID, Session, Player, Status, Data string
	Created                           time.Time
}

type benchEvent struct{ Session, Code, Message string }

type benchDomain struct {
	*store.Store
	sessions  *store.Table[benchSession]
	processes *store.Table[benchProcess]
	players   *store.Table[benchPlayer]
	idle      *store.Index[benchProcess]
	events    *store.Log[benchEvent]
	create    *store.Command[int, string]
}

func newBenchDomain(opts store.Options) *benchDomain {
	d := &benchDomain{Store: store.New(opts)}
	d.sessions = store.NewTable(d.Store, store.TableSpec[benchSession]{Name: "game_session",
		Key: func(v *benchSession) string { return v.ID }, Retention: time.Hour,
		Columns: []store.Column[benchSession]{{Name: "fleet_id", Value: func(v *benchSession) string { return v.Fleet }}}})
	store.NewIndex(d.sessions, "fleet", func(v *benchSession, emit func(string)) { emit(store.Key(v.Fleet, v.Location)) })
	d.processes = store.NewTable(d.Store, store.TableSpec[benchProcess]{Name: "process",
		Key: func(v *benchProcess) string { return v.ID }, Columns: []store.Column[benchProcess]{
			{Name: "session_id", Value: func(v *benchProcess) string { return v.Session }, Unique: true}}})
	d.idle = store.NewIndex(d.processes, "idle", func(v *benchProcess, emit func(string)) {
		if v.Session == "" {
			emit(store.Key(v.Fleet, v.Location))
		}
	})
	d.players = store.NewTable(d.Store, store.TableSpec[benchPlayer]{Name: "player_session",
		Key: func(v *benchPlayer) string { return v.ID }})
	store.NewIndex(d.players, "session", func(v *benchPlayer, emit func(string)) { emit(store.Key(v.Session)) })
	d.events = store.NewLog(d.Store, store.LogSpec[benchEvent]{Name: "event",
		Columns: []store.Column[benchEvent]{{Name: "session_id", Value: func(v *benchEvent) string { return v.Session }}}})
	d.create = store.NewCommand(d.Store, "session.create", d.runCreate)
	return d
}

var filler = strings.Repeat("x", 560)

// runCreate does what "create game session" does: take an idle process, write the
// session, two player sessions and an event.
func (d *benchDomain) runCreate(tx *store.Tx, n int) (string, error) {
	fleet := fmt.Sprintf("fleet-%d", n%8)
	free := d.idle.First(tx, store.Key(fleet, "us-east-1"))
	if free == nil {
		return "", fmt.Errorf("no idle process in %s", fleet)
	}
	session := &benchSession{ID: tx.ID("gsess-"), Fleet: fleet, Location: "us-east-1", Process: free.ID,
		Status: "ACTIVATING", Name: "bench", Created: tx.Now(), Data: filler, Max: 10, Current: 2}
	taken := *free
	taken.Session = session.ID
	d.sessions.Put(tx, session)
	d.processes.Put(tx, &taken)
	for range 2 {
		d.players.Put(tx, &benchPlayer{ID: tx.ID("psess-"), Session: session.ID, Player: "player-1",
			Status: "RESERVED", Created: tx.Now()})
	}
	d.events.Append(tx, &benchEvent{session.ID, "GAME_SESSION_CREATED", "a game session was created on an idle process of the fleet"})
	return session.ID, nil
}

func (d *benchDomain) addProcesses(b testing.TB, n int) {
	for n > 0 {
		count := min(n, 1000)
		err := d.Update(context.Background(), func(tx *store.Tx) error {
			for i := range count {
				d.processes.Put(tx, &benchProcess{ID: tx.ID("proc-"), Fleet: fmt.Sprintf("fleet-%d", i%8), Location: "us-east-1",
					Compute: "compute-1", Status: "ACTIVE", Port: 7000, Started: tx.Now()})
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		n -= count
	}
}

func benchmarkCreate(b *testing.B, open func(b *testing.B) store.Driver) {
	for _, callers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchmarkCallers(b, store.Options{Driver: open(b)}, callers)
		})
	}
}

func benchmarkCallers(b *testing.B, opts store.Options, callers int) {
	d := newBenchDomain(opts)
	if err := d.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	d.addProcesses(b, b.N+8000)
	b.ResetTimer()
	runCallers(b, d, callers)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}

func runCallers(b *testing.B, d *benchDomain, callers int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if _, err := d.create.Do(b.Context(), int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCreate_Memory(b *testing.B) {
	benchmarkCreate(b, func(*testing.B) store.Driver { return store.NewMemory() })
}

func BenchmarkCreate_SQLite(b *testing.B) {
	benchmarkCreate(b, func(b *testing.B) store.Driver { return sqlite.New(b.TempDir()) })
}

// BenchmarkCreate_PostgreSQL needs MUSTER_TEST_POSTGRES; see pgtest.
func BenchmarkCreate_PostgreSQL(b *testing.B) {
	url := pgtest.URL(b)
	for _, callers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchmarkCallers(b, store.Options{Driver: postgres.New(url), Cell: pgtest.Cell(b, url)}, callers)
		})
	}
}
