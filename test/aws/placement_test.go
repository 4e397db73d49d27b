package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// queue creates a queue to the bundle's fleet.
func (b bundle) queue(t *testing.T) *types.GameSessionQueue {
	t.Helper()
	return node.Must(b.Client.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("q"), TimeoutInSeconds: aws.Int32(600), Destinations: []types.GameSessionQueueDestination{{DestinationArn: &b.FleetARN}},
	}))(t).GameSessionQueue
}

// A queue's placement waits until a process is free, is fulfilled by it, and its players are told
// where; another one is stopped.
func TestPlacement(t *testing.T) {
	b := setup(t)
	ctx, c := t.Context(), b.Client
	b.queue(t)
	start := func(id string) *types.GameSessionPlacement {
		return node.Must(c.StartGameSessionPlacement(ctx, &gamelift.StartGameSessionPlacementInput{
			PlacementId: &id, GameSessionQueueName: aws.String("q"), MaximumPlayerSessionCount: aws.Int32(2),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("ana")}},
		}))(t).GameSessionPlacement
	}
	start("stopped")
	stopped := node.Must(c.StopGameSessionPlacement(ctx, &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String("stopped")}))(t).GameSessionPlacement
	if stopped.Status != types.GameSessionPlacementStateCancelled {
		t.Errorf("the stopped placement is %s", stopped.Status)
	}
	placed := start("p")
	if placed.Status != types.GameSessionPlacementStatePending || placed.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled {
		t.Errorf("a new placement is %s with a gateway that is %q", placed.Status, placed.PlayerGatewayStatus)
	}
	b.Server(t)
	b.events.Until(t, "the placement being fulfilled", func(node.Event) bool {
		placed = node.Must(c.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String("p")}))(t).GameSessionPlacement
		return placed.Status == types.GameSessionPlacementStateFulfilled
	})
	if placed.PlayerGatewayStatus != types.PlayerGatewayStatusDisabled || aws.ToString(placed.DnsName) != "127.0.0.1" || len(placed.PlacedPlayerSessions) != 1 {
		t.Errorf("fulfilled: %+v", placed)
	}
	node.Must(c.DeleteGameSessionQueue(ctx, &gamelift.DeleteGameSessionQueueInput{Name: aws.String("q")}))(t)
}
