package aws

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
)

// refusal is a call that must be refused, and a part of the error's message.
type refusal struct {
	name string
	call func() error
	says string
}

// refuse checks that each call returns the exception E with the expected message, and
// leaves the state unchanged.
func refuse[E error](t *testing.T, b bundle, calls []refusal) {
	t.Helper()
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			before := b.app.Digest()
			refused[E](t, c.call(), c.says)
			if b.app.Digest() != before {
				t.Error("the refusal changed the state")
			}
		})
	}
}

// none is the name of a resource that does not exist.
const none = "none"

// to returns destinations with the given ARNs.
func to(arns ...string) (all []types.GameSessionQueueDestination) {
	for _, a := range arns {
		all = append(all, types.GameSessionQueueDestination{DestinationArn: &a})
	}
	return all
}

// queue creates the queue of the calls in these tests. None of its destinations has a
// process, so only the calls change the state.
func (b bundle) queue(t *testing.T) {
	t.Helper()
	must(b.Client.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("q"), TimeoutInSeconds: aws.Int32(600), Destinations: to(b.FleetARN),
	}))(t)
}

// explained waits for the first round of a placement that nothing can host. It is the
// last one if latency caps do not change, so from then on the state does not change.
func (b bundle) explained(t *testing.T, id string) {
	t.Helper()
	wait.For(t, "a round of placement "+id+" is written", func() error {
		response := must(http.Get(b.app.URL() + "/console/api/placements/" + id + "/explain"))(t)
		var told struct {
			Rounds []json.RawMessage `json:"rounds"`
		}
		err := json.NewDecoder(response.Body).Decode(&told)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(told.Rounds) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}

// An invalid queue is refused before anything is stored.
func TestQueue_BadInput(t *testing.T) {
	b := setup(t)
	b.queue(t)
	create := func(change func(*gamelift.CreateGameSessionQueueInput)) func() error {
		return func() error {
			in := &gamelift.CreateGameSessionQueueInput{Name: aws.String("new")}
			change(in)
			_, err := b.Client.CreateGameSessionQueue(t.Context(), in)
			return err
		}
	}
	update := func(change func(*gamelift.UpdateGameSessionQueueInput)) func() error {
		return func() error {
			in := &gamelift.UpdateGameSessionQueueInput{Name: aws.String("q")}
			change(in)
			_, err := b.Client.UpdateGameSessionQueue(t.Context(), in)
			return err
		}
	}
	order := func(types ...types.PriorityType) []types.PriorityType { return types }
	unknown := strings.Replace(b.FleetARN, b.FleetID, "fleet-00000000-0000-7000-8000-000000000000", 1)
	alias := strings.Replace(b.FleetARN, "fleet/"+b.FleetID, "alias/alias-00000000-0000-7000-8000-000000000000", 1)
	refuse[*types.InvalidRequestException](t, b, []refusal{
		{"create: name in use", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Name = aws.String("q") }), "exists already"},
		{"create: name against the pattern", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Name = aws.String("my queue") }), "Name"},
		{"create: name too long", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Name = aws.String(strings.Repeat("q", 129)) }), "Name"},
		{"create: negative timeout", create(func(in *gamelift.CreateGameSessionQueueInput) { in.TimeoutInSeconds = aws.Int32(-1) }), "TimeoutInSeconds"},
		{"create: destination is no ARN", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Destinations = to(b.FleetID) }), "DestinationArn"},
		{"create: destination is another resource", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.Destinations = to("arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/q")
		}), "DestinationArn"},
		{"create: destination with characters that no ARN has", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.Destinations = to("arn:aws:gamelift:us-east-1::fleet/a b")
		}), "DestinationArn"},
		{"create: destination twice", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Destinations = to(b.FleetARN, b.FleetARN) }), "listed twice"},
		{"create: latency policy without a latency", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.PlayerLatencyPolicies = []types.PlayerLatencyPolicy{{PolicyDurationSeconds: aws.Int32(5)}}
		}), "MaximumIndividualPlayerLatencyMilliseconds"},
		{"create: filter with no location", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.FilterConfiguration = &types.FilterConfiguration{AllowedLocations: []string{}}
		}), "AllowedLocations"},
		{"create: filter names a location twice", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.FilterConfiguration = &types.FilterConfiguration{AllowedLocations: []string{"us-east-1", "us-east-1"}}
		}), "listed twice"},
		{"create: priority that does not exist", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.PriorityConfiguration = &types.PriorityConfiguration{PriorityOrder: order("LUCK")}
		}), "PriorityOrder"},
		{"create: priority twice", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.PriorityConfiguration = &types.PriorityConfiguration{PriorityOrder: order(types.PriorityTypeCost, types.PriorityTypeCost)}
		}), "listed twice"},
		{"create: notification target is no ARN", create(func(in *gamelift.CreateGameSessionQueueInput) { in.NotificationTarget = aws.String("http://example/") }), "NotificationTarget"},
		{"create: event data too long", create(func(in *gamelift.CreateGameSessionQueueInput) {
			in.CustomEventData = aws.String(strings.Repeat("x", 257))
		}), "CustomEventData"},
		{"update: destination twice", update(func(in *gamelift.UpdateGameSessionQueueInput) { in.Destinations = to(b.FleetARN, b.FleetARN) }), "listed twice"},
		{"update: destination is no ARN", update(func(in *gamelift.UpdateGameSessionQueueInput) { in.Destinations = to("fleet") }), "DestinationArn"},
		{"update: latency policy without a latency", update(func(in *gamelift.UpdateGameSessionQueueInput) {
			in.PlayerLatencyPolicies = []types.PlayerLatencyPolicy{{}}
		}), "MaximumIndividualPlayerLatencyMilliseconds"},
		{"update: location twice in the order", update(func(in *gamelift.UpdateGameSessionQueueInput) {
			in.PriorityConfiguration = &types.PriorityConfiguration{
				PriorityOrder: order(types.PriorityTypeLocation), LocationOrder: []string{"us-east-1", "us-east-1"},
			}
		}), "listed twice"},
		{"update: negative timeout", update(func(in *gamelift.UpdateGameSessionQueueInput) { in.TimeoutInSeconds = aws.Int32(-1) }), "TimeoutInSeconds"},
		{"delete: name against the pattern", func() error {
			_, err := b.Client.DeleteGameSessionQueue(t.Context(), &gamelift.DeleteGameSessionQueueInput{Name: aws.String("a b")})
			return err
		}, "Name"},
		{"describe: forged token", func() error {
			_, err := b.Client.DescribeGameSessionQueues(t.Context(), &gamelift.DescribeGameSessionQueuesInput{NextToken: aws.String("x")})
			return err
		}, "NextToken"},
		{"describe: page of nothing", func() error {
			_, err := b.Client.DescribeGameSessionQueues(t.Context(), &gamelift.DescribeGameSessionQueuesInput{Limit: aws.Int32(0)})
			return err
		}, "Limit"},
	})
	refuse[*types.NotFoundException](t, b, []refusal{
		{"create: no such fleet", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Destinations = to(b.FleetARN, unknown) }), "does not exist"},
		{"create: no such alias", create(func(in *gamelift.CreateGameSessionQueueInput) { in.Destinations = to(alias) }), "does not exist"},
		{"update: no such fleet", update(func(in *gamelift.UpdateGameSessionQueueInput) { in.Destinations = to(unknown) }), "does not exist"},
		{"update: no such queue", update(func(in *gamelift.UpdateGameSessionQueueInput) { in.Name = aws.String(none) }), "does not exist"},
		{"delete: no such queue", func() error {
			_, err := b.Client.DeleteGameSessionQueue(t.Context(), &gamelift.DeleteGameSessionQueueInput{Name: aws.String(none)})
			return err
		}, "does not exist"},
	})
}

// An invalid placement is refused before anything is stored.
func TestPlacement_BadInput(t *testing.T) {
	b := setup(t)
	b.queue(t)
	in := func() *gamelift.StartGameSessionPlacementInput {
		return &gamelift.StartGameSessionPlacementInput{
			PlacementId: aws.String("new"), GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2),
		}
	}
	start := func(change func(*gamelift.StartGameSessionPlacementInput)) func() error {
		return func() error {
			in := in()
			change(in)
			_, err := b.Client.StartGameSessionPlacement(t.Context(), in)
			return err
		}
	}
	pending := in()
	pending.PlacementId = aws.String("pending")
	must(b.Client.StartGameSessionPlacement(t.Context(), pending))(t)
	over := in()
	over.PlacementId = aws.String("over")
	must(b.Client.StartGameSessionPlacement(t.Context(), over))(t)
	must(b.Client.StopGameSessionPlacement(t.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: over.PlacementId}))(t)
	b.explained(t, *pending.PlacementId)

	player := func(id string) types.DesiredPlayerSession { return types.DesiredPlayerSession{PlayerId: &id} }
	latency := func(change func(*types.PlayerLatency)) []types.PlayerLatency {
		l := types.PlayerLatency{PlayerId: aws.String("ann"), RegionIdentifier: aws.String("us-east-1"), LatencyInMilliseconds: aws.Float32(20)}
		change(&l)
		return []types.PlayerLatency{l}
	}
	var properties []types.GameProperty
	for i := range 17 {
		properties = append(properties, types.GameProperty{Key: aws.String(fmt.Sprint("k", i)), Value: aws.String("v")})
	}
	property := func(key, value string) []types.GameProperty {
		return []types.GameProperty{{Key: &key, Value: &value}}
	}
	refuse[*types.InvalidRequestException](t, b, []refusal{
		{"id of a placement that is PENDING", start(func(in *gamelift.StartGameSessionPlacementInput) { in.PlacementId = aws.String("pending") }), "PENDING"},
		{"id against the pattern", start(func(in *gamelift.StartGameSessionPlacementInput) { in.PlacementId = aws.String("a_b") }), "PlacementId"},
		{"id too long", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PlacementId = aws.String(strings.Repeat("p", 49))
		}), "PlacementId"},
		{"queue against the pattern", start(func(in *gamelift.StartGameSessionPlacementInput) { in.GameSessionQueueName = aws.String("a b") }), "GameSessionQueueName"},
		{"negative player count", start(func(in *gamelift.StartGameSessionPlacementInput) { in.MaximumPlayerSessionCount = aws.Int32(-1) }), "MaximumPlayerSessionCount"},
		{"too many properties", start(func(in *gamelift.StartGameSessionPlacementInput) { in.GameProperties = properties }), "GameProperties"},
		{"property key too long", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.GameProperties = property(strings.Repeat("k", 33), "v")
		}), "Key"},
		{"property value too long", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.GameProperties = property("k", strings.Repeat("v", 97))
		}), "Value"},
		{"name too long", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.GameSessionName = aws.String(strings.Repeat("n", 1025))
		}), "GameSessionName"},
		{"data too long", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.GameSessionData = aws.String(strings.Repeat("d", 262145))
		}), "GameSessionData"},
		{"more players than slots", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.DesiredPlayerSessions = []types.DesiredPlayerSession{player("a"), player("b"), player("c")}
		}), "DesiredPlayerSessions"},
		{"player twice", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.DesiredPlayerSessions = []types.DesiredPlayerSession{player("a"), player("a")}
		}), "listed twice"},
		{"empty player id", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.DesiredPlayerSessions = []types.DesiredPlayerSession{player("")}
		}), "PlayerId"},
		{"player data too long", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.DesiredPlayerSessions = []types.DesiredPlayerSession{{PlayerId: aws.String("a"), PlayerData: aws.String(strings.Repeat("d", 2049))}}
		}), "PlayerData"},
		{"latency of nobody", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PlayerLatencies = latency(func(l *types.PlayerLatency) { l.PlayerId = nil })
		}), "PlayerLatencies.1.PlayerId"},
		{"latency to nowhere", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PlayerLatencies = latency(func(l *types.PlayerLatency) { l.RegionIdentifier = nil })
		}), "PlayerLatencies.1.RegionIdentifier"},
		{"latency below zero", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PlayerLatencies = latency(func(l *types.PlayerLatency) { l.LatencyInMilliseconds = aws.Float32(-1) })
		}), "PlayerLatencies.1.LatencyInMilliseconds"},
		{"override beside latencies", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PlayerLatencies = latency(func(*types.PlayerLatency) {})
			in.PriorityConfigurationOverride = &types.PriorityConfigurationOverride{LocationOrder: []string{"us-east-1"}}
		}), "PriorityConfigurationOverride"},
		{"override of a queue that does not go by location", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PriorityConfigurationOverride = &types.PriorityConfigurationOverride{LocationOrder: []string{"us-east-1"}}
		}), "PriorityConfigurationOverride"},
		{"override with too many locations", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.PriorityConfigurationOverride = &types.PriorityConfigurationOverride{LocationOrder: strings.Split("abcdefghijk", "")}
		}), "LocationOrder"},
		{"stop of a placement that is over", func() error {
			_, err := b.Client.StopGameSessionPlacement(t.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: over.PlacementId})
			return err
		}, "is over"},
		{"describe: id against the pattern", func() error {
			_, err := b.Client.DescribeGameSessionPlacement(t.Context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String("a_b")})
			return err
		}, "PlacementId"},
	})
	refuse[*types.NotFoundException](t, b, []refusal{
		{"no such queue", start(func(in *gamelift.StartGameSessionPlacementInput) { in.GameSessionQueueName = aws.String(none) }), "does not exist"},
		{"no such queue, by ARN", start(func(in *gamelift.StartGameSessionPlacementInput) {
			in.GameSessionQueueName = aws.String("arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/" + none)
		}), "does not exist"},
		{"describe: no such placement", func() error {
			_, err := b.Client.DescribeGameSessionPlacement(t.Context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String(none)})
			return err
		}, "does not exist"},
		{"stop: no such placement", func() error {
			_, err := b.Client.StopGameSessionPlacement(t.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String(none)})
			return err
		}, "does not exist"},
	})
}
