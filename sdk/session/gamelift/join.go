package gamelift

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/sdk/session"
)

// Describe implements session.Sessions.
func (c *Client) Describe(ctx context.Context, sessionID string) (session.Info, error) {
	out, err := c.api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &sessionID})
	if err != nil {
		return session.Info{}, wrap("describe game session", err)
	}
	if len(out.GameSessions) == 0 {
		return session.Info{}, fmt.Errorf("%w: game session %s", session.ErrNotFound, sessionID)
	}
	return infoOf(&out.GameSessions[0]), nil
}

// Pauses between reads of a session that is ACTIVATING: 100 ms + 200 ms·2ⁿ, at most
// 10 s.
const (
	firstPause   = 100 * time.Millisecond
	growingPause = 200 * time.Millisecond
	longestPause = 10 * time.Second
)

// Reserve implements session.Sessions.
func (c *Client) Reserve(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	if err := r.Validate(); err != nil {
		return session.Connection{}, err
	}
	if r.WaitActive > 0 {
		if err := c.waitActive(ctx, r); err != nil {
			return session.Connection{}, err
		}
	}
	out, err := c.api.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &r.SessionID, PlayerId: &r.PlayerID, PlayerData: optional(r.PlayerData),
	})
	if err != nil {
		return session.Connection{}, wrap("create player session", err)
	}
	return connectionOf(out.PlayerSession), nil
}

// waitActive waits while the session is ACTIVATING, for at most r.WaitActive.
func (c *Client) waitActive(ctx context.Context, r session.JoinRequest) error {
	until := time.Now().Add(r.WaitActive)
	for look := 0; ; look++ {
		info, err := c.Describe(ctx, r.SessionID)
		if err != nil {
			return err
		}
		if info.Status == session.Active {
			return nil
		}
		left := time.Until(until)
		if info.Status != session.Activating || left <= 0 {
			return fmt.Errorf("%w: game session %s is %s", session.ErrNotActive, r.SessionID, info.Status)
		}
		pause := min(firstPause+growingPause<<min(look, 16), longestPause, left)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// Join implements session.Sessions.
func (c *Client) Join(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	return c.seat.Join(ctx, func() (session.Connection, error) { return c.Reserve(ctx, r) })
}

// Leave implements session.Sessions.
func (c *Client) Leave(ctx context.Context) error { return c.seat.Leave(ctx) }
