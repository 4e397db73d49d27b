package player

import (
	"context"
	"fmt"
	"net/http"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Reserve implements session.Sessions, for the own player; who has a place in the
// game session already is given that one again. Players learn of a game session
// when it is ACTIVE, so that WaitActive has nothing to wait for.
//
// Errors: ErrNotFound also where the game session is of no pool that players may
// list, such as one that was matched.
func (c *Client) Reserve(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	if err := c.checkJoin(r); err != nil {
		return session.Connection{}, err
	}
	in := &protocol.JoinRequest{PlayerData: r.PlayerData}
	var out protocol.Reservation
	if err := c.call(ctx, call{method: http.MethodPost, path: sessionPath(r.SessionID) + "/players", in: in}, &out); err != nil {
		return session.Connection{}, err
	}
	if out.Connection == nil {
		return session.Connection{}, fmt.Errorf("%w: the answer has no place", session.ErrUnavailable)
	}
	return c.reserved(&out), nil
}

// checkJoin is JoinRequest.Validate but for the bound of SessionID, which is that of
// an ARN: the names of the player API are longer.
func (c *Client) checkJoin(r session.JoinRequest) error {
	switch {
	case r.PlayerID != c.PlayerID():
		return fmt.Errorf("%w: PlayerID: must be the own player", errInvalid)
	case r.SessionID == "":
		return fmt.Errorf("%w: SessionID is required", errInvalid)
	}
	r.SessionID = "checked"
	return r.Validate()
}

// reserved gives a place and until when it is held.
func (c *Client) reserved(r *protocol.Reservation) session.Connection {
	place := connection(r.Connection, c.PlayerID())
	place.ReservedUntil = r.ReservedUntil
	return place
}

// Join implements session.Sessions.
func (c *Client) Join(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	return c.seat.Join(ctx, func() (session.Connection, error) { return c.Reserve(ctx, r) })
}

// Leave implements session.Sessions.
func (c *Client) Leave(ctx context.Context) error { return c.seat.Leave(ctx) }
