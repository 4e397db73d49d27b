package player

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

const sessionsPath = "/sessions"

// Create implements session.Sessions. QueueName is the name of a pool; the own
// player gets a place in what is made, so Players is the own player or nobody.
// MaxPlayers 0 is as many as the pool allows, and Properties are those that it lets
// players set. Without Latency, what ReportLatency told last counts. Data, Location,
// LocationOrder and PlacementID are refused (ErrInvalid).
//
// Errors: ErrNotFound (the pool), ErrUnauthorized where players may make none there,
// ErrConflict where two are on their way already, ErrThrottled.
func (c *Client) Create(ctx context.Context, r session.CreateRequest) (session.Created, error) {
	if err := c.checkCreate(r); err != nil {
		return session.Created{}, err
	}
	in := &protocol.SessionRequest{
		Pool: r.QueueName, Name: r.Name, MaxPlayers: int64(r.MaxPlayers), Properties: r.Properties, LatencyMs: latencyOut(r.Latency[c.PlayerID()]),
	}
	var p protocol.Placement
	if err := c.call(ctx, call{method: http.MethodPost, path: sessionsPath, in: in}, &p); err != nil {
		return session.Created{}, err
	}
	return session.Created{PlacementID: p.PlacementID}, nil
}

// checkCreate refuses what is wrong, and what the player API has nothing for: who
// sets that relies on it.
func (c *Client) checkCreate(r session.CreateRequest) error {
	valid := r
	if r.MaxPlayers == 0 { // means the pool's, which has room for the own player
		valid.Players = nil
	}
	if err := valid.Validate(); err != nil {
		return err
	}
	me := c.PlayerID()
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

// checkPool refuses targets that clients of the player API cannot name.
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

// WaitPlacement implements session.Sessions, by long polls. Answers that may pass
// (throttling, no answer) are waited out.
func (c *Client) WaitPlacement(ctx context.Context, placementID string) (session.Placement, error) {
	var p protocol.Placement
	for failures := 0; ; {
		begun := time.Now()
		changed, err := c.pollPlacement(ctx, placementID, &p)
		switch {
		case err == nil && session.PlacementStatus(upper(p.State)).Ended():
			return c.ended(&p)
		case ctx.Err() != nil:
			return session.Placement{}, ctx.Err()
		case errors.Is(err, session.ErrThrottled) || errors.Is(err, session.ErrUnavailable):
			failures++
			rest(ctx, failures)
		case err != nil:
			return session.Placement{}, err
		default:
			failures = 0
			if !changed && time.Since(begun) < firstPause { // the server stops; another takes over
				rest(ctx, failures)
			}
		}
	}
}

// pollPlacement brings a placement up to date: it waits for a change of one that was
// read before, and tells whether there was any.
func (c *Client) pollPlacement(ctx context.Context, id string, p *protocol.Placement) (changed bool, err error) {
	r := call{method: http.MethodGet, path: placementPath(id), header: http.Header{}}
	if p.Seq > 0 {
		r.path += "?wait=" + strconv.Itoa(int(pollWait.Seconds()))
		r.header.Set("If-None-Match", strconv.Quote(strconv.FormatInt(p.Seq, 10)))
	}
	var now protocol.Placement
	if err := c.call(ctx, r, &now); err != nil || now.PlacementID == "" {
		return false, err
	}
	*p = now
	return true, nil
}

// ended gives a placement that is over, as its player sees it.
func (c *Client) ended(p *protocol.Placement) (session.Placement, error) {
	me := c.PlayerID()
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

// upper spells a state of the player API as package session does.
func upper[S ~string](state S) string { return strings.ToUpper(string(state)) }

// CancelPlacement implements session.Sessions. Errors: ErrNotFound, and ErrConflict
// where the game session is being made and cannot be given up any more.
func (c *Client) CancelPlacement(ctx context.Context, placementID string) error {
	return c.call(ctx, call{method: http.MethodDelete, path: placementPath(placementID)}, nil)
}

func placementPath(id string) string { return "/placements/" + url.PathEscape(id) }
