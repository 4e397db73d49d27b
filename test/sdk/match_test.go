package sdk_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsgamelift "github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/test/node"
)

const duelRules = `{"name":"duel","ruleLanguageVersion":"1.0",
	"playerAttributes":[{"name":"skill","type":"number","default":10},{"name":"modes","type":"string_list"}],
	"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"Close","type":"batchDistance","batchAttribute":"skill","maxDistance":5}]}`

// matchmaker creates a configuration for duels that players must accept.
func (b *bench) matchmaker(t *testing.T) string {
	t.Helper()
	name := "duel-" + uuid.NewString()
	queue := node.Must(b.Client.CreateGameSessionQueue(t.Context(), &awsgamelift.CreateGameSessionQueueInput{
		Name: &name, TimeoutInSeconds: aws.Int32(600),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: &b.FleetARN}},
	}))(t)
	node.Must(b.Client.CreateMatchmakingRuleSet(t.Context(), &awsgamelift.CreateMatchmakingRuleSetInput{
		Name: &name, RuleSetBody: aws.String(duelRules)}))(t)
	node.Must(b.Client.CreateMatchmakingConfiguration(t.Context(), &awsgamelift.CreateMatchmakingConfigurationInput{
		Name: &name, RuleSetName: &name, GameSessionQueueArns: []string{*queue.GameSessionQueue.GameSessionQueueArn},
		RequestTimeoutSeconds: aws.Int32(120), AcceptanceRequired: aws.Bool(true), AcceptanceTimeoutSeconds: aws.Int32(60),
	}))(t)
	return name
}

// netcode records where it was told to connect.
type netcode struct{ at []session.Connection }

func (n *netcode) Connect(_ context.Context, c session.Connection) error {
	n.at = append(n.at, c)
	return nil
}

func (n *netcode) Disconnect(context.Context) error { return nil }

func duelist(configuration, id string) session.MatchRequest {
	return session.MatchRequest{Configuration: configuration, Players: []session.Player{{
		ID: id, Attributes: map[string]session.Attribute{"skill": session.Number(12), "modes": session.StringList("duel")},
		Latency: map[string]time.Duration{"us-east-1": 20 * time.Millisecond},
	}}}
}

// Two players are matched, accept, and are told where to connect; then one
// rejects, and only its own ticket ends.
func TestFindMatch_AgainstTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	configuration := b.matchmaker(t)
	b.Server(t)
	tracker := &session.Poller{Matchmaking: b.client, Every: time.Second}
	var found [2]session.Connection
	var saw [2][]session.TicketState
	var players sync.WaitGroup
	for i, id := range []string{"anna", "ben"} {
		players.Go(func() {
			n := &netcode{}
			place, err := session.FindMatch(t.Context(), b.client, tracker, n, duelist(configuration, id), session.MatchOptions{
				OnEvent: func(e session.TicketEvent) { saw[i] = append(saw[i], e.Ticket.State) },
			})
			if err != nil || len(n.at) != 1 || n.at[0] != place {
				t.Errorf("%s: got %+v, %v, connected to %+v", id, place, err, n.at)
			}
			found[i] = place
		})
	}
	players.Wait()
	if found[0].SessionID == "" || found[0].SessionID != found[1].SessionID || found[0].PlayerSessionID == found[1].PlayerSessionID ||
		found[0].Addr() != "127.0.0.1:7777" || found[0].PlayerID != "anna" {
		t.Errorf("got %+v", found)
	}
	for i := range saw {
		if !slices.Contains(saw[i], session.RequiresAcceptance) || saw[i][len(saw[i])-1] != session.Completed {
			t.Errorf("the tracker saw %q", saw[i])
		}
	}
	b.reject(t, configuration, tracker)
}

// reject has one of two matched players reject after the other has accepted: the ticket
// of the one who accepted is searched for again, and is then stopped.
func (b *bench) reject(t *testing.T, configuration string, tracker session.Tracker) {
	t.Helper()
	willing := duelist(configuration, "cleo")
	willing.TicketID = uuid.NewString()
	node.Must(b.client.StartMatchmaking(t.Context(), willing))(t)
	accepted := make(chan struct{})
	var players sync.WaitGroup
	players.Go(func() {
		_, err := session.FindMatch(t.Context(), b.client, tracker, nil, duelist(configuration, "dora"), session.MatchOptions{
			Accept: func(context.Context, session.Ticket) bool { <-accepted; return false },
		})
		ended, ok := errors.AsType[*session.MatchError](err)
		if !ok || ended.Ticket.State != session.Cancelled {
			t.Errorf("who rejected: got %v", err)
		}
	})
	asked := false
	for e := range tracker.Track(t.Context(), willing.TicketID) {
		switch {
		case e.Kind == session.AcceptanceRequired && !asked:
			asked = true
			if err := b.client.AcceptMatch(t.Context(), willing.TicketID, true, "cleo"); err != nil {
				t.Error(err)
			}
			close(accepted)
		case asked && e.Ticket.State == session.Searching:
			if err := b.client.StopMatchmaking(t.Context(), willing.TicketID); err != nil {
				t.Error(err)
			}
		case e.Last() && (!asked || e.Ticket.State != session.Cancelled):
			t.Errorf("who accepted: got %+v", e)
		}
	}
	players.Wait()
	tickets, err := b.client.DescribeTickets(t.Context(), willing.TicketID, "never-made")
	if err != nil || len(tickets) != 1 || tickets[0].State != session.Cancelled {
		t.Errorf("who stopped has the ticket %+v, %v", tickets, err)
	}
	if err := b.client.StopMatchmaking(t.Context(), willing.TicketID); err != nil {
		t.Errorf("stopping a ticket that is over: %v", err)
	}
}
