package serversdk

import (
	"context"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
)

// startMatchBackfill requests players for the process's game session.
func startMatchBackfill(ctx context.Context, c *call, in protocol.MatchBackfillRequest) (any, error) {
	if err := c.checkBackfill(in); err != nil {
		return nil, err
	}
	players := make([]flexmatch.Player, len(in.Players))
	for i := range in.Players {
		players[i] = backfillPlayer(&in.Players[i])
	}
	t, _, err := c.s.opts.Matches.Start(ctx, flexmatch.StartInput{
		Configuration: in.MatchmakingARN, TicketID: in.TicketID, Players: players,
		Backfill: true, GameSessionID: in.GameSessionARN,
	})
	if err != nil {
		if in.Repeatable && c.isBackfill(ctx, in.TicketID, in.GameSessionARN) {
			return protocol.StartMatchBackfillResponse{Response: c.ok(), TicketID: in.TicketID}, nil
		}
		return nil, err
	}
	return protocol.StartMatchBackfillResponse{Response: c.ok(), TicketID: t.ID}, nil
}

// isBackfill reports whether a ticket is or was a backfill of a game session.
func (c *call) isBackfill(ctx context.Context, ticketID, gameSessionID string) bool {
	if ticketID == "" {
		return false
	}
	found, err := c.s.opts.Matches.Get(ctx, ticketID)
	return err == nil && found != nil && found.Ticket.Backfill && found.Ticket.GameSessionID == gameSessionID
}

// stopMatchBackfill ends a backfill of the process's game session, or its
// automatic backfill.
func stopMatchBackfill(ctx context.Context, c *call, in protocol.MatchBackfillRequest) (any, error) {
	err := c.checkBackfill(in)
	if err == nil {
		err = required("TicketId", in.TicketID)
	}
	if err != nil {
		return nil, err
	}
	return c.ok(), c.s.opts.Matches.StopBackfill(ctx, in.GameSessionARN, in.TicketID)
}

// checkBackfill returns an error unless a request is about the game session that the
// process hosts.
func (c *call) checkBackfill(in protocol.MatchBackfillRequest) error {
	if err := required("GameSessionArn", in.GameSessionARN, "MatchmakingConfigurationArn", in.MatchmakingARN); err != nil {
		return err
	}
	g := c.s.opts.Sessions.Live(c.s.opts.Store.View(), in.GameSessionARN)
	if g == nil || g.ProcessKey != c.key || g.Status.Ended() {
		return fault.Missing("GameSessionArn: the process hosts no game session %s", in.GameSessionARN)
	}
	return nil
}

func backfillPlayer(p *protocol.Player) flexmatch.Player {
	out := flexmatch.Player{ID: p.PlayerID, Team: p.Team, Latency: p.LatencyMS}
	if len(p.Attributes) > 0 {
		out.Attributes = make(map[string]flexmatch.Attribute, len(p.Attributes))
		for name, v := range p.Attributes {
			out.Attributes[name] = backfillAttribute(v)
		}
	}
	return out
}

// backfillAttribute sets the member that AttrType names. For an unknown type it sets
// none, which the request's check refuses, naming the attribute.
func backfillAttribute(v protocol.AttributeValue) (out flexmatch.Attribute) {
	switch v.AttrType {
	case "STRING":
		out.S = &v.S
	case "DOUBLE":
		out.N = &v.N
	case "STRING_LIST":
		if out.SL = v.SL; out.SL == nil {
			out.SL = []string{}
		}
	case "STRING_DOUBLE_MAP":
		if out.SDM = v.SDM; out.SDM == nil {
			out.SDM = map[string]float64{}
		}
	}
	return out
}
