package scenario

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// placerQueue is the name of the placer's queue.
const placerQueue = "queue"

// placer starts placements, one at a time, and follows each to its game session on
// its own servers.
type placer struct {
	place   *node.Place
	host    *host
	count   int
	started []string          // acknowledged, in order
	doubts  map[string]bool   // started without an answer
	met     map[string]string // game session by placement that was seen FULFILLED
	games   map[string]string // placement by game session
}

func newPlacer(t *testing.T, client *gamelift.Client) *placer {
	place := node.NewPlace(t, client)
	_, err := place.Client.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String(placerQueue), TimeoutInSeconds: aws.Int32(600),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: &place.FleetARN}},
	})
	if err != nil {
		t.Fatal(err)
	}
	quick(t, place)
	ctx, cancel := context.WithCancel(context.Background())
	h := newHost(ctx, place, 8)
	t.Cleanup(func() {
		cancel()
		h.running.Wait()
	})
	return &placer{place: place, host: h, doubts: map[string]bool{}, met: map[string]string{}, games: map[string]string{}}
}

// run starts placements until ctx ends.
func (p *placer) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.count++
		id := fmt.Sprint("placement-", p.count)
		_, err := p.place.Client.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
			PlacementId: &id, GameSessionQueueName: aws.String(placerQueue), MaximumPlayerSessionCount: aws.Int32(2),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("ann")}},
		})
		switch {
		case err == nil:
			p.started = append(p.started, id)
			for p.met[id] == "" && ctx.Err() == nil && p.settle(ctx, id) == nil {
				pause(ctx)
			}
		case !answered(err):
			p.doubts[id] = true
		}
		pause(ctx)
	}
}

// settle checks whether a placement is FULFILLED, and if so ends its game session, so
// that others find a process.
func (p *placer) settle(ctx context.Context, id string) error {
	out, err := p.place.Client.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id}, retried)
	if err != nil {
		return err
	}
	now := out.GameSessionPlacement
	switch now.Status {
	case types.GameSessionPlacementStatePending:
		return nil
	case types.GameSessionPlacementStateFulfilled:
	default:
		return fmt.Errorf("placement %s is %s", id, now.Status)
	}
	game := *now.GameSessionArn
	if before, seen := p.met[id]; seen && before != game {
		return fmt.Errorf("placement %s has game session %s, and had %s", id, game, before)
	}
	if len(now.PlacedPlayerSessions) != 1 {
		return fmt.Errorf("placement %s has %d player sessions", id, len(now.PlacedPlayerSessions))
	}
	if err := one("game session", p.games, game, id); err != nil {
		return err
	}
	if err := p.end(ctx, game); err != nil {
		return err
	}
	p.met[id] = game
	return nil
}

// end ends the process of a game session. A repeated request finds the game session
// ending or ended.
func (p *placer) end(ctx context.Context, game string) error {
	_, err := p.place.Client.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{
		GameSessionId: &game, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	}, retried)
	var over *types.InvalidGameSessionStatusException
	if asError(err, &over) {
		return nil
	}
	return err
}

// check checks that everything acknowledged is there and ends, and that what was in
// doubt is there once or not at all.
func (p *placer) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	if err := p.host.back(ctx); err != nil {
		return err
	}
	if err := p.host.checkHosted(); err != nil {
		return err
	}
	for id := range p.doubts {
		_, err := p.place.Client.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id}, retried)
		var none *types.NotFoundException
		if err == nil {
			p.started = append(p.started, id)
		} else if !asError(err, &none) {
			return err
		}
	}
	clear(p.doubts)
	for _, id := range p.started {
		for {
			if err := p.settle(ctx, id); err != nil {
				return err
			}
			if _, done := p.met[id]; done {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("placement %s was acknowledged and is still not fulfilled", id)
			}
			pause(ctx)
		}
	}
	p.started = nil
	return nil
}
