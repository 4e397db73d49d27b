package player

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

const sessionsPath = "/sessions"

// Create implements session.Sessions. QueueName is the name of a pool. The player
// gets a slot in the new session, so Players must be empty or this player alone.
// MaxPlayers 0 means as many as the pool allows; Properties are limited to those that
// the pool lets players set. Without Latency, the last ReportLatency applies. Data,
// Location, LocationOrder and PlacementID are refused (ErrInvalid).
//
// Errors: ErrNotFound (the pool), ErrUnauthorized if players may not create sessions
// there, ErrConflict if two placements are already under way, ErrThrottled.
func (c *Client) Create(ctx context.Context, r session.CreateRequest) (session.Created, error) {
	if err := checkCreate(r, c.PlayerID()); err != nil {
		return session.Created{}, err
	}
	in := &protocol.SessionRequest{
		Pool: r.QueueName, Name: r.Name, MaxPlayers: int64(r.MaxPlayers), Properties: r.Properties, LatencyMs: latencyOut(r.Latency[c.PlayerID()]),
	}
	var p protocol.Placement
	if err := c.account.call(ctx, call{method: http.MethodPost, path: sessionsPath, in: in}, &p); err != nil {
		return session.Created{}, err
	}
	return session.Created{PlacementID: p.PlacementID}, nil
}

// checkCreate refuses invalid requests, and members that the player API cannot honor:
// a caller that sets one relies on it.
func checkCreate(r session.CreateRequest, me string) error {
	valid := r
	if r.MaxPlayers == 0 { // the pool's limit, which has room for this player
		valid.Players = nil
	}
	if err := valid.Validate(); err != nil {
		return err
	}
	for i, p := range r.Players {
		if i > 0 || p.PlayerID != me || p.Data != "" {
			return fmt.Errorf("%w: Players: must be the own player alone, without Data", errInvalid)
		}
	}
	for id := range r.Latency {
		if id != me {
			return fmt.Errorf("%w: Latency: must be that of the own player alone", errInvalid)
		}
	}
	switch {
	case r.Location != "":
		return notTaken("Location")
	case r.Data != "":
		return notTaken("Data")
	case r.PlacementID != "":
		return notTaken("PlacementID")
	case len(r.LocationOrder) > 0: // which NoFallback needs
		return notTaken("LocationOrder")
	}
	return checkPool(r.Target)
}

// checkPool refuses targets that the player API cannot address.
func checkPool(t session.Target) error {
	switch t.Kind() {
	case session.OnAlias:
		return notTaken("AliasID")
	case session.OnFleet:
		return notTaken("FleetID")
	}
	return nil
}

func notTaken(field string) error {
	return fmt.Errorf("%w: %s: the player API does not take it", errInvalid, field)
}

// WaitPlacement implements session.Sessions with long polls. Temporary errors
// (throttling, no answer) are retried.
func (c *Client) WaitPlacement(ctx context.Context, placementID string) (session.Placement, error) {
	var p protocol.Placement
	for failures := 0; ; {
		begun := time.Now()
		changed, err := pollPlacement(ctx, &c.account, placementID, &p)
		switch {
		case err == nil && session.PlacementStatus(upper(p.State)).Ended():
			return ended(&p, c.PlayerID())
		case ctx.Err() != nil:
			return session.Placement{}, ctx.Err()
		case errors.Is(err, session.ErrThrottled) || errors.Is(err, session.ErrUnavailable):
			failures++
			rest(ctx, failures)
		case err != nil:
			return session.Placement{}, err
		default:
			failures = 0
			if !changed && time.Since(begun) < firstPause { // the server is stopping; another takes over
				rest(ctx, failures)
			}
		}
	}
}

// pollPlacement updates p: if p was read before, it waits for a change. It reports
// whether there was one.
func pollPlacement(ctx context.Context, a *account, id string, p *protocol.Placement) (changed bool, err error) {
	var now protocol.Placement
	if err := a.poll(ctx, placementPath(id), p.Seq, pollWait, &now); err != nil || now.PlacementID == "" {
		return false, err
	}
	*p = now
	return true, nil
}

// ended converts a placement that has ended, as its player sees it.
func ended(p *protocol.Placement, me string) (session.Placement, error) {
	out := session.Placement{ID: p.PlacementID, Status: session.PlacementStatus(upper(p.State))}
	if p.Connection != nil {
		place := connection(p.Connection, me)
		out.SessionID, out.DNSName, out.IPAddress, out.Port = place.SessionID, place.DNSName, place.IPAddress, place.Port
		out.Connections = map[string]session.Connection{me: place}
	}
	if out.Status != session.PlacementFulfilled {
		return out, &session.PlacementError{Placement: out}
	}
	return out, nil
}

// upper converts a state of the player API to the spelling of package session.
func upper[S ~string](state S) string { return strings.ToUpper(string(state)) }

// CancelPlacement implements session.Sessions. Errors: ErrNotFound, and ErrConflict
// if the game session is being created and can no longer be given up.
func (c *Client) CancelPlacement(ctx context.Context, placementID string) error {
	return c.account.call(ctx, call{method: http.MethodDelete, path: placementPath(placementID)}, nil)
}

func placementPath(id string) string { return "/placements/" + url.PathEscape(id) }
