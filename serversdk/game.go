package serversdk

import (
	"context"

	"github.com/musterhq/muster/serversdk/protocol"
	"github.com/musterhq/muster/session"
)

func activateGameSession(ctx context.Context, c *call, in protocol.ActivateGameSessionRequest) (any, error) {
	if err := required("GameSessionId", in.GameSessionID); err != nil {
		return nil, err
	}
	return c.ok(), c.s.opts.Sessions.Activate(ctx, c.ref(), in.GameSessionID)
}

// finishGameSession ends the process's game session. The process is not ready any more:
// its next ProcessReady must be heard again.
func finishGameSession(ctx context.Context, c *call, in protocol.FinishGameSessionRequest) (any, error) {
	if err := c.s.opts.Sessions.Finish(ctx, c.ref(), in.GameSessionID); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.hearing = false
	return c.ok(), nil
}

func reportPlayers(ctx context.Context, c *call, in protocol.ReportPlayersRequest) (any, error) {
	if err := required("GameSessionId", in.GameSessionID); err != nil {
		return nil, err
	}
	return c.ok(), c.s.opts.Sessions.ReportPlayers(ctx, c.ref(), in.GameSessionID, in.Players)
}

func updatePlayerSessionCreationPolicy(ctx context.Context, c *call, in protocol.UpdatePlayerSessionCreationPolicyRequest) (any, error) {
	if err := required("GameSessionId", in.GameSessionID); err != nil {
		return nil, err
	}
	return c.ok(), c.s.opts.Sessions.SetJoinPolicy(ctx, c.ref(), in.GameSessionID, session.JoinPolicy(in.Policy))
}
