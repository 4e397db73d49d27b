package gamelift

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/sdk/session"
)

// Create implements session.Sessions.
func (c *Client) Create(ctx context.Context, r session.CreateRequest) (session.Created, error) {
	if err := r.Validate(); err != nil {
		return session.Created{}, err
	}
	if r.Kind() == session.OnQueue {
		return c.place(ctx, r)
	}
	in := &gamelift.CreateGameSessionInput{
		MaximumPlayerSessionCount: aws.Int32(int32(r.MaxPlayers)),
		Name:                      optional(r.Name), CreatorId: optional(r.CreatorID),
		GameSessionData: optional(r.Data), GameProperties: properties(r.Properties),
		IdempotencyToken: optional(r.IdempotencyToken), Location: optional(r.Location),
	}
	if r.Kind() == session.OnAlias {
		in.AliasId = &r.AliasID
	} else {
		in.FleetId = &r.FleetID
	}
	out, err := c.api.CreateGameSession(ctx, in)
	if err != nil {
		return session.Created{}, wrap("create game session", err)
	}
	info := infoOf(out.GameSession)
	return session.Created{Session: &info}, nil
}

func (c *Client) place(ctx context.Context, r session.CreateRequest) (session.Created, error) {
	if r.PlacementID == "" {
		r.PlacementID = session.NewPlayerID()
	}
	in := &gamelift.StartGameSessionPlacementInput{
		GameSessionQueueName: &r.QueueName, PlacementId: &r.PlacementID,
		MaximumPlayerSessionCount: aws.Int32(int32(r.MaxPlayers)),
		GameSessionName:           optional(r.Name), GameSessionData: optional(r.Data),
		GameProperties: properties(r.Properties), PlayerLatencies: latencies(r.Latency),
	}
	for _, p := range r.Players {
		in.DesiredPlayerSessions = append(in.DesiredPlayerSessions,
			types.DesiredPlayerSession{PlayerId: aws.String(p.PlayerID), PlayerData: optional(p.Data)})
	}
	if len(r.LocationOrder) > 0 {
		override := &types.PriorityConfigurationOverride{LocationOrder: r.LocationOrder}
		if r.NoFallback {
			override.PlacementFallbackStrategy = types.PlacementFallbackStrategyNone
		}
		in.PriorityConfigurationOverride = override
	}
	out, err := c.api.StartGameSessionPlacement(ctx, in)
	if err != nil {
		return session.Created{}, wrap("start placement", err)
	}
	return session.Created{PlacementID: aws.ToString(out.GameSessionPlacement.PlacementId)}, nil
}

// latencies lists latencies in a fixed order, so that equal requests are equal.
func latencies(byPlayer map[string]map[string]time.Duration) []types.PlayerLatency {
	var list []types.PlayerLatency
	for _, player := range slices.Sorted(maps.Keys(byPlayer)) {
		for _, where := range slices.Sorted(maps.Keys(byPlayer[player])) {
			list = append(list, types.PlayerLatency{
				PlayerId: aws.String(player), RegionIdentifier: aws.String(where),
				LatencyInMilliseconds: aws.Float32(float32(session.Milliseconds(byPlayer[player][where]))),
			})
		}
	}
	return list
}

// pauses are the times between reads of a placement; the last one is repeated.
var pauses = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}

// WaitPlacement implements session.Sessions. It reads the placement after 0.5, 1, 2
// and 4 seconds and then every 5, each ±20 %. Temporary errors (throttling, no
// answer) are retried.
func (c *Client) WaitPlacement(ctx context.Context, placementID string) (session.Placement, error) {
	for look := 0; ; look++ {
		p, err := c.placement(ctx, placementID)
		switch {
		case errors.Is(err, session.ErrThrottled) || errors.Is(err, session.ErrUnavailable):
			c.log.Warn("placement not read; it will be asked for again", "placement_id", placementID, "error", err)
		case err != nil:
			return session.Placement{}, err
		case p.Status == session.PlacementFulfilled:
			return p, nil
		case p.Status.Ended():
			return p, &session.PlacementError{Placement: p}
		}
		if err := sleep(ctx, jitter(pauses[min(look, len(pauses)-1)])); err != nil {
			return session.Placement{}, err
		}
	}
}

func (c *Client) placement(ctx context.Context, id string) (session.Placement, error) {
	out, err := c.api.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
	if err != nil {
		return session.Placement{}, wrap("describe placement", err)
	}
	return placementOf(out.GameSessionPlacement), nil
}

// CancelPlacement implements session.Sessions.
func (c *Client) CancelPlacement(ctx context.Context, placementID string) error {
	_, err := c.api.StopGameSessionPlacement(ctx, &gamelift.StopGameSessionPlacementInput{PlacementId: &placementID})
	failed := wrap("stop placement", err)
	if errors.Is(failed, session.ErrInvalid) || errors.Is(failed, session.ErrConflict) {
		if p, err := c.placement(ctx, placementID); err == nil && p.Status.Ended() {
			return nil
		}
	}
	return failed
}

func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// sleep waits for d. It returns the context's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
