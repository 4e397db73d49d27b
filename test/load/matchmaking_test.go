package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/wait"
)

var tickets = flag.Int("tickets", 0, "how many tickets the load of matchmaking starts; 0 skips it")

// lonely needs more players than ever come, so its tickets only wait.
const lonely = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
	"teams": [{"name": "all", "minPlayers": 40, "maxPlayers": 40}],
	"rules": [{"name": "never", "type": "comparison", "operation": "<", "referenceValue": 0, "measurements": ["flatten(teams[*].players.attributes[skill])"]}]}`

// duels matches one against one.
const duels = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
	"teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 1}]}`

// measured skips the test unless a flag says how much is to be measured.
func measured(t *testing.T, flag int, run string) {
	t.Helper()
	if flag == 0 {
		t.Skip("a measurement: run it with " + run + " -v")
	}
}

// lobby returns a market with a standalone configuration of a rule set.
func lobby(t *testing.T, body string) *market {
	t.Helper()
	m := openMarket(t)
	m.configure(t, "load", body)
	return m
}

// configure makes a standalone configuration of a rule set.
func (m *market) configure(t *testing.T, name, body string) {
	t.Helper()
	_, err := m.matches.RuleSets.Create(context.Background(), flexmatch.RuleSetInput{Name: name, Body: body})
	check(t, err)
	_, err = m.matches.Configurations.Create(context.Background(), flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
		Name: name, RuleSet: name, Mode: flexmatch.Standalone, RequestTimeout: time.Hour,
	}})
	check(t, err)
}

func ticketID(i int) string { return fmt.Sprintf("ticket-%07d", i) }

// search starts ticket i, of one player.
func (m *market) search(i int) error {
	skill := float64(i % 1000)
	_, _, err := m.matches.Start(context.Background(), flexmatch.StartInput{
		Configuration: "load", TicketID: ticketID(i), Players: []flexmatch.Player{{
			ID: fmt.Sprint("player-", i), Attributes: map[string]flexmatch.Attribute{"skill": {N: &skill}}, Latency: map[string]int{location: 20 + i%150},
		}},
	})
	return err
}

// ticket returns the request of StartMatchmaking for ticket i, of one player.
func ticket(i int) any {
	return map[string]any{
		"ConfigurationName": "load", "TicketId": ticketID(i),
		"Players": []any{map[string]any{
			"PlayerId": fmt.Sprint("player-", i), "PlayerAttributes": map[string]any{"skill": map[string]any{"N": i % 1000}},
			"LatencyInMs": map[string]any{location: 20 + i%150},
		}},
	}
}

// signed signs n requests of an operation.
func (m *market) signed(t *testing.T, operation string, n int, in func(i int) any) [][]byte {
	t.Helper()
	requests := make([][]byte, n)
	for i := range requests {
		var err error
		requests[i], err = jsonCodec.signed(context.Background(), m.house, operation, in(i))
		check(t, err)
	}
	return requests
}

// send sends requests from many callers, and returns how many are answered a second.
func (m *market) send(t *testing.T, callers int, requests [][]byte) (rate float64) {
	t.Helper()
	conns, err := dial(m.address, callers)
	check(t, err)
	defer conns.close()
	rate, err = together(callers, len(requests), func(i int) error {
		_, err := conns.send(requests[i])
		return err
	})
	check(t, err)
	return rate
}

// TestMatchmaking measures durable StartMatchmaking over HTTP and SigV4 next to the
// same command called directly, which is the store's rate for the same rows.
func TestMatchmaking(t *testing.T) {
	measured(t, *tickets, "-tickets 20000")
	fmt.Printf("\n| callers | StartMatchmaking a second, called directly | over HTTP and SigV4 | ratio |\n|---|---|---|---|\n")
	for _, callers := range []int{1, 16, 128} {
		n := *tickets
		if callers == 1 {
			n = min(n, 2000)
		}
		direct := lobby(t, lonely)
		limit, err := together(callers, n, direct.search)
		check(t, err)
		wire := lobby(t, lonely)
		rate := wire.send(t, callers, wire.signed(t, "StartMatchmaking", n, ticket))
		fmt.Printf("| %d | %.0f | %.0f | %.2f |\n", callers, limit, rate, rate/limit)
	}
}

// TestMatchmaking_Flow measures tickets from StartMatchmaking over HTTP to COMPLETED,
// in matches of two, with 128 callers.
func TestMatchmaking_Flow(t *testing.T) {
	measured(t, *tickets, "-tickets 20000")
	m, n := lobby(t, duels), *tickets&^1
	requests := m.signed(t, "StartMatchmaking", n, ticket)
	begin := time.Now()
	started := m.send(t, 128, requests)
	wait.For(t, "all tickets are matched", func() error {
		if left := m.matches.Active(m.store.View(), "load"); left > 0 {
			return fmt.Errorf("%d are not", left)
		}
		return nil
	})
	fmt.Printf("\n| matches of two, 128 callers | started a second | COMPLETED a second, from the first start to the last |\n|---|---|---|\n| %d tickets | %.0f | %.0f |\n",
		n, started, float64(n)/time.Since(begin).Seconds())
}

// hopeless requires teams farther apart than any two players are: no split of any
// tickets can satisfy it, and only a complete match shows that.
const hopeless = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
	"teams": [{"name": "red", "minPlayers": 5, "maxPlayers": 5}, {"name": "blue", "minPlayers": 5, "maxPlayers": 5}],
	"rules": [{"name": "far", "type": "distance", "minDistance": 100000, "measurements": ["avg(teams[red].players.attributes[skill])"],
		"referenceValue": "avg(teams[blue].players.attributes[skill])"}]}`

// TestMatchmaking_Adversary measures matches of two next to a configuration in which
// ten times -tickets tickets wait under a rule set that cannot be satisfied.
func TestMatchmaking_Adversary(t *testing.T) {
	measured(t, *tickets, "-tickets 10000")
	fmt.Printf("\n| beside it wait | start to COMPLETED, p50 | p99 | slowest | DescribeMatchmaking of all, slowest |\n|---|---|---|---|---|\n")
	for _, waiting := range []int{0, 10 * *tickets} {
		m := lobby(t, duels)
		m.enterHopeless(t, waiting)
		var took []time.Duration
		var slowest time.Duration
		for i := range 50 {
			begin := time.Now()
			ids := []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}
			for _, id := range ids {
				check(t, m.enter("load", id, 1))
			}
			look := time.NewTicker(time.Millisecond)
			for ; ; <-look.C {
				asked := time.Now()
				d, err := m.matches.Get(context.Background(), ids[1])
				check(t, err)
				slowest = max(slowest, time.Since(asked))
				if d.Ticket.Status.Over() {
					break
				}
			}
			look.Stop()
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		fmt.Printf("| %d | %v | %v | %v | %v |\n", waiting, percentile(took, .5), percentile(took, .99), took[len(took)-1].Round(time.Millisecond), slowest.Round(time.Microsecond))
	}
}

func (m *market) enter(configuration, id string, skill float64) error {
	_, _, err := m.matches.Start(context.Background(), flexmatch.StartInput{
		Configuration: configuration, TicketID: id,
		Players: []flexmatch.Player{{ID: "player-" + id, Attributes: map[string]flexmatch.Attribute{"skill": {N: &skill}}}},
	})
	return err
}

// enterHopeless fills a separate configuration with tickets that wait forever.
func (m *market) enterHopeless(t *testing.T, n int) {
	t.Helper()
	m.configure(t, "hopeless", hopeless)
	_, err := together(256, n, func(i int) error { return m.enter("hopeless", fmt.Sprint("hopeless-", i), float64(i%3000)) })
	check(t, err)
}
