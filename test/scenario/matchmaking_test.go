package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// deaths is how often the server of the matchmaking test is killed.
const deaths = 10

// trio is three against nobody: tickets of one player wait for two others.
const trio = `{"ruleLanguageVersion": "1.0", "teams": [{"name": "trio", "minPlayers": 3, "maxPlayers": 3}]}`

// TestKill_Matchmaking: every ticket that was acknowledged is matched, and none
// twice, though the server is killed again and again under the players.
func TestKill_Matchmaking(t *testing.T) {
	node.Path(t)
	args := []string{"--listen", freeAddress(t), "--data", t.TempDir(), "--log-level", "warn"}
	server := node.Start(t, args...)
	client := node.Client(server.URL, func(o *gamelift.Options) { o.RetryMaxAttempts = 1 })
	ctx := t.Context()
	for _, step := range []func() error{
		func() error {
			_, err := client.CreateMatchmakingRuleSet(ctx, &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("trio"), RuleSetBody: aws.String(trio)})
			return err
		},
		func() error {
			_, err := client.CreateMatchmakingConfiguration(ctx, &gamelift.CreateMatchmakingConfigurationInput{
				Name: aws.String("mm"), RuleSetName: aws.String("trio"), FlexMatchMode: types.FlexMatchModeStandalone,
				RequestTimeoutSeconds: aws.Int32(600), AcceptanceRequired: aws.Bool(false),
			})
			return err
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	q := &queue{client: client}
	for range deaths {
		q.work(ctx, server)
		server = node.Start(t, args...)
	}
	acknowledged := len(q.tickets)
	for len(q.tickets)%3 != 0 || len(q.doubts) > 0 { // whoever may or may not be waiting gets the company that is missing
		if len(q.doubts) > 0 {
			q.settle(ctx, t)
			continue
		}
		if err := q.enter(ctx); err != nil {
			t.Fatal(err)
		}
	}
	q.await(t, server.URL)
	t.Logf("%d tickets acknowledged over %d kills, %d in all", acknowledged, deaths, len(q.tickets))
	if acknowledged < 10*deaths {
		t.Errorf("only %d tickets were acknowledged", acknowledged)
	}
}

// queue is players who ask for a match, and what they know of it.
type queue struct {
	client *gamelift.Client

	mu      sync.Mutex
	count   int
	tickets []string // acknowledged
	doubts  []string // asked for without an answer
}

// work has players ask until the server is killed under them.
func (q *queue) work(ctx context.Context, server *node.Process) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				_ = q.enter(ctx) // an error leaves a doubt
			}
		})
	}
	<-time.After(300 * time.Millisecond)
	server.Kill()
	cancel()
	running.Wait()
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

// settle finds out which tickets without an answer are there.
func (q *queue) settle(ctx context.Context, t *testing.T) {
	for ids := range slices.Chunk(q.doubts, 10) {
		out, err := q.client.DescribeMatchmaking(ctx, &gamelift.DescribeMatchmakingInput{TicketIds: ids})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range out.TicketList {
			q.tickets = append(q.tickets, *x.TicketId)
		}
	}
	q.doubts = nil
}

// await reads the events until every ticket has been matched, each once.
func (q *queue) await(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/console/api/events?follow=true&after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	matches := map[string]int{}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
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
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Code != "MATCHMAKING_SUCCEEDED" {
			continue
		}
		for _, x := range e.Notice.Detail.Tickets {
			if matches[x.TicketID]++; matches[x.TicketID] > 1 {
				t.Errorf("%s was matched twice", x.TicketID)
			}
		}
		if !slices.ContainsFunc(q.tickets, func(id string) bool { return matches[id] == 0 }) {
			return
		}
	}
	for _, id := range q.tickets {
		if matches[id] == 0 {
			t.Errorf("%s was acknowledged and never matched", id)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
