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

func updatePlayerSessionCreationPolicy(ctx context.Context, c *call, in protocol.UpdatePlayerSessionCreationPolicyRequest) (any, error) {
	if err := required("GameSessionId", in.GameSessionID); err != nil {
		return nil, err
	}
	return c.ok(), c.s.opts.Sessions.SetJoinPolicy(ctx, c.ref(), in.GameSessionID, session.JoinPolicy(in.Policy))
}
