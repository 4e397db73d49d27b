package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

var streams = flag.Int("streams", 0, "how often the cost of standbys is measured; 0 skips it")

// streamed is what a market on PostgreSQL did.
type streamed struct{ sessions, tickets, latency, placed float64 }

// TestStream measures what warm standbys cost their owner, on PostgreSQL: workloads W1, W2 and
// W8, and StartMatchmaking, in turns without the row of each commit that standbys read, with it,
// and with standbys in this process that read it. They share the processors and the database
// with the owner, as those of other machines do not. The trigger that leaves the row out takes some of
// the time that the row would, and the rates differ by more than 5 % from round to round: what the
// row costs PostgreSQL is measured by TestRowCost.
func TestStream(t *testing.T) {
	measured(t, *streams, "-streams 5 and "+pgtest.Variable)
	kinds := []struct {
		name     string
		silent   bool // no row is written
		standbys int
	}{{"without the row", true, 0}, {"with it", false, 0}, {"a standby", false, 1}, {"two standbys", false, 2}}
	all := make([][]streamed, len(kinds))
	for range *streams {
		for i, k := range kinds {
			t.Run(k.name, func(t *testing.T) { all[i] = append(all[i], measureStream(t, k.silent, k.standbys)) })
		}
	}
	fmt.Printf("\n| median of %d | W1: game sessions a second | W2: p50 in ms | StartMatchmaking a second | W8 at 300 a second: p50 in ms |\n|---|---|---|---|---|\n", *streams)
	for i, k := range kinds {
		fmt.Printf("| %s |", k.name)
		for _, of := range []func(streamed) float64{
			func(s streamed) float64 { return s.sessions }, func(s streamed) float64 { return s.latency },
			func(s streamed) float64 { return s.tickets }, func(s streamed) float64 { return s.placed },
		} {
			var values, ratios []float64
			for n, s := range all[i] {
				values, ratios = append(values, of(s)), append(ratios, of(s)/of(all[0][n]))
			}
			slices.Sort(values)
			slices.Sort(ratios)
			fmt.Printf(" %.4g (× %.2f, %.2f to %.2f) |", values[len(values)/2], ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
		}
		fmt.Println()
	}
}

func measureStream(t *testing.T, silent bool, standbys int) (s streamed) {
	ctx := t.Context()
	url := pgtest.Database(t)
	m := newMarket(t, postgres.New(url))
	m.open(t)
	m.configure(t, "load", lonely)
	if silent { // by a trigger: PostgreSQL allows no rule that does nothing instead of a statement in WITH
		conn, err := pgx.Connect(ctx, url)
		check(t, err)
		_, err = conn.Exec(ctx, `SET search_path TO "muster_default";
			CREATE FUNCTION "silent"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
			CREATE TRIGGER "silent" BEFORE INSERT ON "muster_commit" FOR EACH ROW EXECUTE FUNCTION "silent"()`)
		check(t, err)
		check(t, conn.Close(ctx))
	}
	follow, stop := context.WithCancel(context.Background())
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	for range standbys {
		standby := newMarket(t, postgres.New(url)).store
		following.Go(func() { standby.Follow(follow); check(t, standby.Close()) })
		wait.Until(t, "the standby is warm", func() bool { return standby.Standby().Warm })
	}
	const games, alone, placed = 4000, 200, 3000
	m.host(t, games+alone+placed)
	took := m.steady(t, 300, m.signedStarts(t, placed, crowd{players: 20, locations: 5})) // first: other game sessions count as its own
	s.placed = took[len(took)/2].Seconds() * 1000
	s.sessions, _ = m.sessionsBy(t, "in process", 40, games)
	_, took = m.sessionsBy(t, "in process", 1, alone)
	s.latency = took[len(took)/2].Seconds() * 1000
	var err error
	s.tickets, err = together(128, 20000, m.search)
	check(t, err)
	return s
}
