package serversdk

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
	"github.com/musterhq/muster/session"
)

// Page sizes of DescribePlayerSessions. The Go SDK accepts at most 1024 in a result, and so
// many may be requested; a page ends earlier at maxShown or maxPageBytes, as if Limit were
// lower.
const (
	defaultPage  = 50
	maxPage      = 1024
	maxShown     = 900 // the archive's queries have at most 1000
	maxPageBytes = 1<<20 - 4<<10
)

func acceptPlayerSession(ctx context.Context, c *call, in protocol.PlayerSessionRequest) (any, error) {
	if err := required("GameSessionId", in.GameSessionID, "PlayerSessionId", in.PlayerSessionID); err != nil {
		return nil, err
	}
	_, err := c.s.opts.Sessions.Players.Accept(ctx, c.ref(), in.GameSessionID, in.PlayerSessionID)
	return c.ok(), err
}

func removePlayerSession(ctx context.Context, c *call, in protocol.PlayerSessionRequest) (any, error) {
	if err := required("GameSessionId", in.GameSessionID, "PlayerSessionId", in.PlayerSessionID); err != nil {
		return nil, err
	}
	return c.ok(), c.s.opts.Sessions.Players.Remove(ctx, c.ref(), in.GameSessionID, in.PlayerSessionID)
}

// describePlayerSessions lists player sessions of the process's fleet.
func describePlayerSessions(ctx context.Context, c *call, in protocol.DescribePlayerSessionsRequest) (any, error) {
	q, err := playerQuery(in)
	if err != nil {
		return nil, err
	}
	out := protocol.DescribePlayerSessionsResponse{Response: c.ok()}
	if q.GameSessionID != "" && arn.SessionFleet(q.GameSessionID) != c.ref().FleetID {
		return nil, fault.Missing("GameSessionId: fleet %s has no game session %s", c.ref().FleetID, q.GameSessionID)
	}
	page, more, err := c.s.opts.Sessions.Players.List(ctx, q)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, p := range page {
		if p.FleetID != c.ref().FleetID { // a player's sessions on other fleets are not shown
			continue
		}
		one := shown(p)
		if size += len(protocol.Encode(one)); size > maxPageBytes && i > 0 {
			page, more = page[:i], true
			break
		}
		out.PlayerSessions = append(out.PlayerSessions, one)
	}
	if more && q.PlayerSessionID == "" {
		out.NextToken = nextToken(in, page[len(page)-1].ID)
	}
	return out, nil
}

// playerQuery returns the query of a request. Errors: InvalidRequest.
func playerQuery(in protocol.DescribePlayerSessionsRequest) (session.PlayerQuery, error) {
	q := session.PlayerQuery{
		GameSessionID: in.GameSessionID, PlayerSessionID: in.PlayerSessionID, PlayerID: in.PlayerID,
		Status: session.PlayerStatus(in.StatusFilter), Limit: in.Limit,
	}
	selectors := 0
	for _, s := range []string{q.GameSessionID, q.PlayerSessionID, q.PlayerID} {
		if s != "" {
			selectors++
		}
	}
	if selectors != 1 {
		return q, fault.Invalid("GameSessionId, PlayerSessionId, PlayerId: exactly one of them is required; %d are given", selectors)
	}
	switch q.Status {
	case "", session.Reserved, session.Playing, session.Completed, session.TimedOut:
	case "NOT_SET":
		q.Status = "" // how the SDKs spell "no filter"
	default:
		return q, fault.Invalid("PlayerSessionStatusFilter: must be one of %s, %s, %s, %s", session.Reserved, session.Playing, session.Completed, session.TimedOut)
	}
	switch {
	case q.Limit < 0 || q.Limit > maxPage:
		return q, fault.Invalid("Limit: must be 1 to %d", maxPage)
	case q.Limit == 0:
		q.Limit = defaultPage
	}
	q.Limit = min(q.Limit, maxShown)
	var err error
	q.After, err = tokenPlace(in)
	return q, err
}

func shown(p *session.PlayerSession) protocol.PlayerSession {
	return protocol.PlayerSession{
		PlayerID: p.PlayerID, PlayerSessionID: p.ID, GameSessionID: p.GameSessionID, FleetID: p.FleetID,
		PlayerData: p.Data, IPAddress: p.IPAddress, Port: p.Port, DNSName: p.DNSName,
		CreationTime: millis(p.Created), TerminationTime: millis(p.Ended), Status: string(p.Status),
	}
}

// millis returns the protocol's form of a time; 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
