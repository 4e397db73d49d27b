package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqlite"
)

const (
	weekRetention = 48 * time.Hour
	weekStep      = 10 * time.Minute
	lifeEvents    = 26 // of one game session
)

// week lets a week pass on the database, by the times of the rows, in which -n game sessions
// of ten players end every ten minutes and expire after two days, and prints what is stored
// after each day. What has expired is removed every ten minutes.
func week(s settings) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	onDisk := func() (bytes int64, err error) {
		for _, name := range []string{"muster.db", "muster.db-wal"} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return 0, err
			}
			bytes += info.Size()
		}
		return bytes, nil
	}
	if err := aWeek(ctx, s.n, "SQLite", sqlite.New(dir), onDisk); err != nil {
		return err
	}
	server, err := pgtest.Start()
	if err != nil {
		return err
	}
	defer server.Stop()
	conn, err := pgx.Connect(ctx, server.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return aWeek(ctx, s.n, "PostgreSQL", postgres.New(server.URL), func() (bytes int64, err error) {
		err = conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&bytes)
		return bytes, err
	})
}

// endings writes what has ended straight to a database.
type endings struct {
	db    store.DB
	fence store.Fence
	entry uint64 // number of the last event
}

func aWeek(ctx context.Context, n int, engine string, driver store.Driver, size func() (int64, error)) error {
	id := func(name string) store.TableSchema {
		return store.TableSchema{Name: name, Retention: weekRetention, Columns: []store.ColumnSchema{{Name: "game_session", Digest: true}}}
	}
	db, err := driver.Open(ctx, "default", store.Schema{
		Tables: []store.TableSchema{id("game_session"), id("player_session")},
		Logs:   []store.LogSchema{{Name: "event", Retention: weekRetention, Columns: id("").Columns}},
	})
	if err != nil {
		return err
	}
	defer db.Close()
	e := &endings{db: db}
	if e.fence, err = db.Take(ctx, "load"); err != nil {
		return err
	}
	fmt.Printf("%s: %d game sessions every %v, kept for %v\n\n| day | stored | commits and pruning |\n|---|---|---|\n", engine, n, weekStep, weekRetention)
	at, began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Now()
	for day := range 7 {
		for range int(24 * time.Hour / weekStep) {
			at = at.Add(weekStep)
			if err := errors.Join(e.end(ctx, n, at), e.prune(ctx, at)); err != nil {
				return err
			}
		}
		bytes, err := size()
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %.1f MB | %.0f s |\n", day+1, float64(bytes)/1e6, time.Since(began).Seconds())
	}
	fmt.Println()
	return nil
}

// end archives n game sessions with their players and events, each in a commit of its own.
func (e *endings) end(ctx context.Context, n int, at time.Time) error {
	for range n {
		fleet, game := "fleet-"+uuid.NewString(), "gsess-"+uuid.NewString()
		arn := "arn:aws:gamelift:us-east-1::gamesession/" + fleet + "/custom-load/" + game
		b := &store.Batch{Fence: e.fence, Seq: e.fence.Seq + 1, Now: at}
		ended := func(key, doc string) store.StoredRow {
			return store.StoredRow{Key: key, Doc: []byte(doc), Columns: []string{arn}, New: true, Time: at}
		}
		stamp := at.Format(time.RFC3339Nano)
		tables := []store.TableBatch{{Table: 0}, {Table: 1}}
		tables[0].Archives = []store.StoredRow{ended(arn, fmt.Sprintf(`{"id":%q,"fleet_id":%q,"status":"TERMINATED","created":%q,"ended":%q,"max_players":10,"data":%q}`,
			arn, fleet, stamp, stamp, gameData))}
		var players []string
		for i := range aboard {
			player := "psess-" + uuid.NewString()
			players = append(players, player)
			tables[1].Archives = append(tables[1].Archives, ended(player, fmt.Sprintf(
				`{"id":%q,"game_session_id":%q,"fleet_id":%q,"player_id":"player-%d","status":"COMPLETED","created":%q,"ended":%q,"ip_address":"127.0.0.1","dns_name":"127.0.0.1","port":1298,"reserved_until":%q}`,
				player, arn, fleet, i, stamp, stamp, stamp)))
		}
		log := store.LogBatch{}
		for i := range lifeEvents {
			e.entry++
			log.Entries = append(log.Entries, store.StoredEntry{Seq: e.entry, Time: at, Columns: []string{arn}, Doc: fmt.Appendf(nil,
				`{"id":%q,"time":%q,"code":"PLAYER_SESSION_ACCEPTED","fleet_id":%q,"game_session_id":%q,"player_session_id":%q}`,
				uuid.NewString(), stamp, fleet, arn, players[i%aboard])})
		}
		b.Tables, b.Logs = tables, []store.LogBatch{log}
		if err := e.db.Commit(ctx, b); err != nil {
			return err
		}
		e.fence.Seq = b.Seq
	}
	return nil
}

func (e *endings) prune(ctx context.Context, now time.Time) error {
	p := store.Pruning{Now: now, Before: []time.Time{now.Add(-weekRetention)}, Rows: 500}
	for n := p.Rows; n >= p.Rows; {
		var err error
		if n, err = e.db.Prune(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
