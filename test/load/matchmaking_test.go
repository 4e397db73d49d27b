package main

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch"
)

var tickets = flag.Int("tickets", 0, "how many tickets the load of matchmaking starts; 0 skips it")

// lonely has room for more players than ever come, so its tickets only wait.
const lonely = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
	"teams": [{"name": "all", "minPlayers": 40, "maxPlayers": 40}],
	"rules": [{"name": "never", "type": "comparison", "operation": "<", "referenceValue": 0, "measurements": ["flatten(teams[*].players.attributes[skill])"]}]}`

// pairs matches one against one.
const pairs = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
	"teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 1}]}`

// lobby makes a market with a standalone configuration of a rule set.
func lobby(t *testing.T, body string) *market {
	t.Helper()
	m := openMarket(t)
	_, err := m.matches.CreateRuleSet(context.Background(), flexmatch.RuleSetInput{Name: "load", Body: body})
	check(t, err)
	_, err = m.matches.CreateConfiguration(context.Background(), flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
		Name: "load", RuleSet: "load", Mode: flexmatch.Standalone, RequestTimeout: time.Hour,
	}})
	check(t, err)
	return m
}

func ticketID(i int) string { return fmt.Sprintf("ticket-%07d", i) }

// signedTickets signs n requests of StartMatchmaking for one player each.
func (m *market) signedTickets(t *testing.T, n int) [][]byte {
	t.Helper()
	requests := make([][]byte, n)
	for i := range requests {
		var err error
		requests[i], err = jsonCodec.signed(context.Background(), m.house, "StartMatchmaking", map[string]any{
			"ConfigurationName": "load", "TicketId": ticketID(i),
			"Players": []any{map[string]any{
				"PlayerId": fmt.Sprint("player-", i), "PlayerAttributes": map[string]any{"skill": map[string]any{"N": i % 1000}},
				"LatencyInMs": map[string]any{location: 20 + i%150},
			}},
		})
		check(t, err)
	}
	return requests
}

// TestMatchmaking measures durable StartMatchmaking over HTTP and SigV4 beside
// the same command called directly, which is the store's own rate for its rows.
func TestMatchmaking(t *testing.T) {
	if *tickets == 0 {
		t.Skip("a measurement: run it with -tickets 20000 -v")
	}
	fmt.Printf("\n| callers | StartMatchmaking a second, called directly | over HTTP and SigV4 | ratio |\n|---|---|---|---|\n")
	for _, callers := range []int{1, 16, 128} {
		n := *tickets
		if callers == 1 {
			n = min(n, 2000)
		}
		direct := lobby(t, lonely)
		skill := 5.0
		limit, err := together(callers, n, func(i int) error {
			_, _, err := direct.matches.Start(context.Background(), flexmatch.StartInput{
				Configuration: "load", TicketID: ticketID(i), Players: []flexmatch.Player{{
					ID: fmt.Sprint("player-", i), Attributes: map[string]flexmatch.Attribute{"skill": {N: &skill}}, Latency: map[string]int{location: 20},
				}},
			})
			return err
		})
		check(t, err)
		wire := lobby(t, lonely)
		requests := wire.signedTickets(t, n)
		conns, err := dial(wire.address, callers)
		check(t, err)
		rate, err := together(callers, n, func(i int) error {
			_, err := conns.send(requests[i])
			return err
		})
		check(t, err)
		conns.close()
		fmt.Printf("| %d | %.0f | %.0f | %.2f |\n", callers, limit, rate, rate/limit)
	}
}

// TestMatchmaking_Flow measures tickets from StartMatchmaking over HTTP to
// COMPLETED, in matches of two, with 128 callers.
func TestMatchmaking_Flow(t *testing.T) {
	if *tickets == 0 {
		t.Skip("a measurement: run it with -tickets 20000 -v")
	}
	m, n := lobby(t, pairs), *tickets&^1
	requests := m.signedTickets(t, n)
	conns, err := dial(m.address, 128)
	check(t, err)
	defer conns.close()
	begin := time.Now()
	started, err := together(128, n, func(i int) error {
		_, err := conns.send(requests[i])
		return err
	})
	check(t, err)
	for m.matches.Active(m.store.View(), "load") > 0 {
		if time.Since(begin) > 2*time.Minute {
			t.Fatal("not all tickets are matched after two minutes")
		}
		time.Sleep(5 * time.Millisecond) // the end of a measurement, not of a test
	}
	fmt.Printf("\n| matches of two, 128 callers | started a second | COMPLETED a second, from the first start to the last |\n|---|---|---|\n| %d tickets | %.0f | %.0f |\n",
		n, started, float64(n)/time.Since(begin).Seconds())
}
