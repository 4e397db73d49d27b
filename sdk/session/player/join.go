package player

import (
	"context"
	"fmt"
	"net/http"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Reserve implements session.Sessions, for this player only. A player who already has
// a slot in the game session gets the same one again. Players see only ACTIVE game
// sessions, so WaitActive has no effect.
//
// Errors: ErrNotFound also for a game session outside the pools that players may
// list, such as one created by a match.
func (c *Client) Reserve(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	if err := checkJoin(r, c.PlayerID()); err != nil {
		return session.Connection{}, err
	}
	in := &protocol.JoinRequest{PlayerData: r.PlayerData}
	var out protocol.Reservation
	if err := c.account.call(ctx, call{method: http.MethodPost, path: sessionPath(r.SessionID) + "/players", in: in}, &out); err != nil {
		return session.Connection{}, err
	}
	if out.Connection == nil {
		return session.Connection{}, fmt.Errorf("%w: the answer has no place", session.ErrUnavailable)
	}
	return reserved(&out, c.PlayerID()), nil
}

// checkJoin is JoinRequest.Validate except for the limit on SessionID, which is that
// of an ARN: the ids of the player API are longer.
func checkJoin(r session.JoinRequest, me string) error {
	switch {
	case r.PlayerID != me:
		return fmt.Errorf("%w: PlayerID: must be the own player", errInvalid)
	case r.SessionID == "":
		return fmt.Errorf("%w: SessionID is required", errInvalid)
	}
	r.SessionID = "checked"
	return r.Validate()
}

// reserved converts a reservation, including its expiry.
func reserved(r *protocol.Reservation, me string) session.Connection {
	place := connection(r.Connection, me)
	place.ReservedUntil = r.ReservedUntil
	return place
}

// Join implements session.Sessions.
func (c *Client) Join(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	return c.seat.Join(ctx, func() (session.Connection, error) { return c.Reserve(ctx, r) })
}

// Leave implements session.Sessions.
func (c *Client) Leave(ctx context.Context) error { return c.seat.Leave(ctx) }
