package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/session"
)

// databaseSize measures what the whole life of a game session of ten players leaves in the
// database: -n of them are created, joined, left and archived, each on a process of its own.
func databaseSize(s settings) error {
	for _, measure := range []func(context.Context, settings) (*size, error){sizeOnSQLite, sizeOnPostgres} {
		z, err := measure(context.Background(), s)
		if err != nil {
			return err
		}
		z.print(s.n)
	}
	return nil
}

// size is what game sessions left in a database.
type size struct {
	engine   string
	written  int64 // to the write-ahead log
	lasting  int64
	of       map[string]int64 // lasting bytes of tables with their indexes
	rows     map[string]int64
	commands float64 // game sessions a second
}

func (z *size) print(n int) {
	per := func(bytes int64) string { return fmt.Sprintf("%.2f KB", float64(bytes)/float64(n)/1000) }
	fmt.Printf("%s, %d game sessions of ten players, %.0f/s: %s each, and %s of write-ahead log\n\n",
		z.engine, n, z.commands, per(z.lasting), per(z.written))
	fmt.Println("| table with its indexes | rows each | each |")
	fmt.Println("|---|---|---|")
	names := make([]string, 0, len(z.of))
	for name := range z.of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(z.of[b], z.of[a]) })
	for _, name := range names {
		if z.of[name] > int64(n)*20 {
			fmt.Printf("| %s | %.1f | %s |\n", name, float64(z.rows[name])/float64(n), per(z.of[name]))
		}
	}
	fmt.Println()
}

// lives lets n game sessions begin and end, and waits until all are archived.
func (h *house) lives(ctx context.Context, n int) (rate float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go h.sessions.Run(ctx)
	go h.computes.Run(ctx)
	players := make([]session.Joining, aboard)
	for i := range players {
		players[i].PlayerID = fmt.Sprint("player-", i)
	}
	ids := make([]string, n)
	rate, err = together(64, n, func(i int) (err error) {
		ids[i], err = h.life(ctx, i, players)
		return err
	})
	for _, id := range ids {
		for err == nil && h.sessions.Live(h.store.View(), id) != nil {
			time.Sleep(50 * time.Millisecond)
		}
	}
	return rate, err
}

// life is the life of one game session and of its process. It returns the session's id.
func (h *house) life(ctx context.Context, i int, players []session.Joining) (id string, err error) {
	if err := h.process(ctx, i); err != nil {
		return "", err
	}
	g, err := h.sessions.Create(ctx, session.CreateInput{
		FleetID: h.fleet.ID, Location: location, MaxPlayers: aboard, Name: "load", Data: gameData,
		Properties: []session.Property{{Key: "map", Value: "winter"}},
	})
	if err != nil {
		return "", err
	}
	if g, err = h.sessions.Get(ctx, g.ID); err != nil {
		return "", err
	}
	ref := compute.ParseRef(g.ProcessKey)
	if err := h.sessions.Activate(ctx, ref, g.ID); err != nil {
		return "", err
	}
	seats, err := h.sessions.Players.Reserve(ctx, session.ReserveInput{GameSessionID: g.ID, Players: players})
	for _, seat := range seats {
		if err == nil {
			_, err = h.sessions.Players.Accept(ctx, ref, g.ID, seat.ID)
		}
	}
	for _, seat := range seats {
		if err == nil {
			err = h.sessions.Players.Remove(ctx, ref, g.ID, seat.ID)
		}
	}
	return g.ID, errors.Join(err, h.computes.End(ctx, ref))
}

func sizeOnSQLite(ctx context.Context, s settings) (*size, error) {
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	z, err := sizeOf(ctx, s, "SQLite", sqlite.New(dir), written)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "muster.db"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT m.tbl_name, sum(d.pgsize) FROM dbstat AS d JOIN sqlite_schema AS m ON m.name = d.name GROUP BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var bytes int64
		if err := rows.Scan(&name, &bytes); err != nil {
			return nil, err
		}
		z.add(name, bytes)
	}
	for name := range z.of {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM "`+name+`"`).Scan(&n); err != nil {
			return nil, err
		}
		z.rows[name] = n
	}
	return z, rows.Err()
}

// written returns how many bytes this process has written to files.
func written() (int64, error) {
	raw, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if count, found := strings.CutPrefix(line, "wchar: "); found {
			return strconv.ParseInt(strings.TrimSpace(count), 10, 64)
		}
	}
	return 0, errors.New("/proc/self/io does not say what was written")
}

func sizeOnPostgres(ctx context.Context, s settings) (*size, error) {
	database, err := pgtest.Start("autovacuum=off", "full_page_writes=off")
	if err != nil {
		return nil, err
	}
	defer database.Stop()
	conn, err := pgx.Connect(ctx, database.URL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	z, err := sizeOf(ctx, s, "PostgreSQL", postgres.New(database.URL), func() (n int64, err error) {
		err = conn.QueryRow(ctx, `SELECT (pg_current_wal_lsn() - '0/0')::bigint`).Scan(&n)
		return n, err
	})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `VACUUM (FULL, ANALYZE)`); err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint, sum(greatest(c.reltuples, 0))::bigint
		FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid LEFT JOIN pg_class AS p ON p.oid = i.inhparent
		WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace('muster_default') GROUP BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var bytes, n int64
		if err := rows.Scan(&name, &bytes, &n); err != nil {
			return nil, err
		}
		z.add(name, bytes)
		z.rows[name] = n
	}
	return z, rows.Err()
}

// add adds a table. Only archives and events last.
func (z *size) add(table string, bytes int64) {
	z.of[table] = bytes
	if table == "event" || strings.HasSuffix(table, "_archive") {
		z.lasting += bytes
	}
}

// sizeOf runs the game sessions. counted returns the bytes written so far.
func sizeOf(ctx context.Context, s settings, engine string, driver store.Driver, counted func() (int64, error)) (*size, error) {
	h, err := openWith(ctx, driver, 0, session.Options{Linger: time.Second})
	if err != nil {
		return nil, err
	}
	before, err := counted()
	if err != nil {
		return nil, err
	}
	rate, err := h.lives(ctx, s.n)
	if err != nil {
		return nil, err
	}
	after, err := counted()
	z := &size{engine: engine, written: after - before, commands: rate, of: map[string]int64{}, rows: map[string]int64{}}
	return z, errors.Join(err, h.close())
}
