package backend

import (
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

type tickets struct{ *core }

func (h *tickets) start(rq *request, in *protocol.TicketRequest) (answer, error) {
	t, err := h.Lobby.Tickets.Start(rq.context(), rq.player.PlayerID, rq.player.Scope, matchRequest(in))
	if err == nil {
		rq.w.Header().Set("Location", protocol.Base+"/matchmaking/tickets/"+t.ID)
	}
	return h.answerWith(rq, http.StatusCreated, t, err)
}

func matchRequest(in *protocol.TicketRequest) lobby.MatchRequest {
	return lobby.MatchRequest{Matchmaker: in.Matchmaker, PartyID: in.PartyID, Team: in.Team, Attributes: in.Attributes, Latency: in.LatencyMs}
}

func (h *tickets) answerWith(rq *request, status int, t *lobby.Ticket, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, body: ticketOut(h.Lobby.Tickets, t, rq.player.PlayerID, rq.from), etag: quoted(t.Seq)}, nil
}

func (h *tickets) list(rq *request) (answer, error) {
	active := rq.http.URL.Query().Get("active") == "true"
	out := &protocol.Tickets{Items: []protocol.Ticket{}}
	for t := range h.Lobby.Tickets.Of(h.Store.View(), rq.player.PlayerID) {
		if !active || !t.Over() {
			out.Items = append(out.Items, *ticketOut(h.Lobby.Tickets, t, rq.player.PlayerID, rq.from))
		}
	}
	slices.Reverse(out.Items) // ids increase with time
	return ok(out, nil)
}

func (h *tickets) get(rq *request) (answer, error) {
	player := rq.player.PlayerID
	return h.hub.poll(rq, func() (body any, seq int64, ended bool, err error) {
		t, err := h.Lobby.Tickets.Get(player, rq.param("ticket"))
		if err != nil {
			return nil, 0, false, err
		}
		return ticketOut(h.Lobby.Tickets, t, player, rq.from), t.Seq, t.Over(), nil
	})
}

func (h *tickets) cancel(rq *request) (answer, error) {
	t, err := h.Lobby.Tickets.Cancel(rq.context(), rq.player.PlayerID, rq.param("ticket"))
	return h.answerWith(rq, http.StatusAccepted, t, err)
}

func (h *tickets) answer(rq *request, in *protocol.AcceptRequest) (answer, error) {
	t, err := h.Lobby.Tickets.Answer(rq.context(), rq.player.PlayerID, rq.param("ticket"), in.Accept)
	return h.answerWith(rq, http.StatusAccepted, t, err)
}

// ticketOut returns a ticket as one of its players sees it: each player sees only their
// own player session.
func ticketOut(from *lobby.Tickets, t *lobby.Ticket, player string, client netip.Addr) *protocol.Ticket {
	f := &t.Found
	out := &protocol.Ticket{
		TicketID: t.ID, Matchmaker: t.Matchmaker, PartyID: t.PartyID, State: protocol.TicketState(f.State), Reason: f.Reason, CreatedAt: t.Created,
		UpdatedAt: t.Updated, ExpiresAt: t.Expires, MatchID: f.MatchID, Seq: t.Seq,
		EstimatedWaitSeconds: int64(from.Estimate(t) / time.Second), Players: make([]protocol.TicketPlayer, len(f.Members)),
	}
	for i, m := range f.Members {
		out.Players[i] = protocol.TicketPlayer{PlayerID: m.PlayerID, Team: m.Team, Accepted: m.Accepted}
		if m.PlayerID != player {
			continue
		}
		switch f.State {
		case lobby.RequiresAcceptance:
			out.Acceptance = &protocol.Acceptance{Deadline: f.AcceptBy, Mine: m.Accepted}
		case lobby.Completed:
			if m.PlayerSessionID != "" || f.SessionID != "" {
				out.Connection = connection(f.Connection, m.PlayerSessionID, client)
			}
		}
	}
	return out
}
