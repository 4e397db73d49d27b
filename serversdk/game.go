package serversdk

import (
	"context"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
	"github.com/musterhq/muster/session"
)

func activateGameSession(ctx context.Context, c *call) (any, error) {
	in, err := protocol.Decode[protocol.ActivateGameSessionRequest](c.frame)
	if err != nil {
		return nil, err
	}
	if err := required("GameSessionId", in.GameSessionID); err != nil {
		return nil, err
	}
	if err := c.s.opts.Sessions.Activate(ctx, c.ref, in.GameSessionID); err != nil {
		return nil, err
	}
	return c.ok(), nil
}

func updatePlayerSessionCreationPolicy(ctx context.Context, c *call) (any, error) {
	in, err := protocol.Decode[protocol.UpdatePlayerSessionCreationPolicyRequest](c.frame)
	if err != nil {
		return nil, err
	}
	if err := required("GameSessionId", in.GameSessionID); err != nil {
		return nil, err
	}
	if err := c.s.opts.Sessions.SetJoinPolicy(ctx, c.ref, in.GameSessionID, session.JoinPolicy(in.Policy)); err != nil {
		return nil, err
	}
	return c.ok(), nil
}

func required(member, value string) error {
	if value == "" {
		return fault.Invalid("%s: required", member)
	}
	return nil
}
