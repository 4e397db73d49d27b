package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// deaths is how often the server of the matchmaking test is killed.
const deaths = 10

// trio is a match of three: tickets of one player wait for two others.
const trio = `{"ruleLanguageVersion": "1.0", "teams": [{"name": "trio", "minPlayers": 3, "maxPlayers": 3}]}`

// TestKill_Matchmaking: every acknowledged ticket is matched, and none twice,
// although the server is repeatedly killed while players wait.
func TestKill_Matchmaking(t *testing.T) {
	node.Path(t)
	args := []string{"--listen", node.Reserve(t), "--data", t.TempDir(), "--log-level", "warn"}
	server := node.Start(t, args...)
	client := node.Client(server.URL, func(o *gamelift.Options) { o.RetryMaxAttempts = 1 })
	q := newQueue(t, client)
	for range deaths {
		q.work(t, server)
		server = node.Start(t, args...)
	}
	acknowledged := q.complete(t)
	q.await(t, server.URL)
	t.Logf("%d tickets acknowledged over %d kills, %d in all", acknowledged, deaths, len(q.tickets))
	if acknowledged < 10*deaths {
		t.Errorf("only %d tickets were acknowledged", acknowledged)
	}
}

// queue is a set of players who request matches, and what they know about them.
type queue struct {
	client *gamelift.Client

	mu      sync.Mutex
	count   int
	tickets []string // acknowledged
	doubts  []string // requested without an answer
}

// newQueue creates the configuration in which three players match.
func newQueue(t *testing.T, client *gamelift.Client) *queue {
	t.Helper()
	node.Matchmaker(t, client, "mm", trio)
	return &queue{client: client}
}

// run enters one player after the other until ctx ends.
func (q *queue) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = q.enter(ctx) // an error leaves a doubt
	}
}

// work lets players request matches until the server is killed, after a while in which it has
// acknowledged some.
func (q *queue) work(t *testing.T, server *node.Process) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	enough := q.acknowledged() + 10
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { q.run(ctx) })
	}
	<-time.After(300 * time.Millisecond)
	wait.Until(t, "ten tickets are acknowledged", func() bool { return q.acknowledged() >= enough })
	server.Kill()
	cancel()
	running.Wait()
}

func (q *queue) acknowledged() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tickets)
}

// complete settles what is in doubt and enters the players that are missing for
// complete matches. It returns how many tickets were acknowledged before.
func (q *queue) complete(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	acknowledged := len(q.tickets)
	for len(q.tickets)%3 != 0 || len(q.doubts) > 0 {
		if len(q.doubts) > 0 {
			q.settle(ctx, t)
		} else if err := q.enter(ctx); err != nil && ctx.Err() != nil { // else a doubt like any other
			t.Fatal(err)
		}
	}
	return acknowledged
}

func (q *queue) enter(ctx context.Context) error {
	q.mu.Lock()
	q.count++
	id := fmt.Sprint("ticket-", q.count)
	q.mu.Unlock()
	_, err := q.client.StartMatchmaking(ctx, &gamelift.StartMatchmakingInput{
		ConfigurationName: aws.String("mm"), TicketId: &id, Players: []types.Player{{PlayerId: aws.String("player-" + id)}},
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.doubts = append(q.doubts, id)
		return err
	}
	q.tickets = append(q.tickets, id)
	return nil
}

// settle finds out which tickets without an answer exist.
func (q *queue) settle(ctx context.Context, t *testing.T) {
	for ids := range slices.Chunk(q.doubts, 10) {
		out, err := q.client.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: ids}, retried)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range out.TicketList {
			q.tickets = append(q.tickets, *x.TicketId)
		}
	}
	q.doubts = nil
}

// await reads the events until every ticket has been matched, and then reads all
// events again to check that each was matched once.
func (q *queue) await(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		missing, err := q.missing(ctx, url)
		if len(missing) == 0 {
			q.once(ctx, t, url)
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("acknowledged and never matched: %v; the events ended with %v", missing, err)
		}
		pause(ctx) // the stream broke with its server
	}
}

// missing follows the events from the first one and returns the tickets that had not
// been matched when the stream ended; if there are none, it ends the stream itself.
func (q *queue) missing(ctx context.Context, url string) ([]string, error) {
	waiting := map[string]bool{}
	for _, id := range q.tickets {
		waiting[id] = true
	}
	err := matches(ctx, url+"/console/api/events?follow=true&after=0", func(id string) bool {
		delete(waiting, id)
		return len(waiting) > 0
	})
	return slices.Collect(maps.Keys(waiting)), err
}

// once reads all events, including those after the last ticket's first match: a
// second match of a ticket would come after its first.
func (q *queue) once(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	times := map[string]int{}
	err := matches(ctx, url+"/console/api/events?after=0", func(id string) bool {
		times[id]++
		return true
	})
	if err != nil {
		t.Errorf("the events were not read to their end: %v", err)
	}
	for _, id := range q.tickets {
		if times[id] != 1 {
			t.Errorf("%s was matched %d times", id, times[id])
		}
	}
}

// matches visits the tickets of matches in the order of events, until visit returns
// false.
func matches(ctx context.Context, url string, visit func(ticket string) bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		for _, id := range inMatch(lines.Bytes()) {
			if !visit(id) {
				return nil
			}
		}
	}
	return lines.Err()
}

// inMatch returns the tickets of the match that an event reports, if any.
func inMatch(line []byte) (ids []string) {
	var e struct {
		Code   string `json:"code"`
		Notice struct {
			Detail struct {
				Tickets []struct {
					TicketID string `json:"ticketId"`
				} `json:"tickets"`
			} `json:"detail"`
		} `json:"notice"`
	}
	if json.Unmarshal(line, &e) != nil || e.Code != "MATCHMAKING_SUCCEEDED" {
		return nil
	}
	for _, x := range e.Notice.Detail.Tickets {
		ids = append(ids, x.TicketID)
	}
	return ids
}
