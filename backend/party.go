package backend

import (
	"net/http"
	"time"

	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

type parties struct{ *core }

func (h *parties) create(rq *request, in *protocol.PartyRequest) (answer, error) {
	p, err := h.Lobby.Parties.Create(rq.context(), rq.player.PlayerID, in.Matchmaker, in.Max)
	return h.answer(http.StatusCreated, p, err)
}

func (h *parties) answer(status int, p *lobby.Party, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, body: partyOut(p, time.Now())}, nil
}

func (h *parties) join(rq *request, in *protocol.PartyJoin) (answer, error) {
	p, err := h.Lobby.Parties.Join(rq.context(), rq.player.PlayerID, in.Code)
	return h.answer(http.StatusOK, p, err)
}

func (h *parties) get(rq *request) (answer, error) {
	p, err := h.Lobby.Parties.Party(rq.player.PlayerID, rq.param("party"))
	return h.answer(http.StatusOK, p, err)
}

func (h *parties) change(rq *request, in *protocol.MemberChange) (answer, error) {
	p, err := h.Lobby.Parties.Change(rq.context(), rq.player.PlayerID, rq.param("party"), in.Ready, in.Attributes, in.LatencyMs)
	return h.answer(http.StatusOK, p, err)
}

func (h *parties) leave(rq *request) (answer, error) {
	member := rq.param("player")
	if member == "me" {
		member = rq.player.PlayerID
	}
	return done(h.Lobby.Parties.Leave(rq.context(), rq.player.PlayerID, rq.param("party"), member))
}

func partyOut(p *lobby.Party, now time.Time) *protocol.Party {
	out := &protocol.Party{
		PartyID: p.ID, Code: p.Code, Leader: p.Leader, Matchmaker: p.Matchmaker, Max: int64(p.Max), ExpiresAt: p.Expires,
		Members: make([]protocol.PartyMember, len(p.Members)),
	}
	for i, m := range p.Members {
		out.Members[i] = protocol.PartyMember{PlayerID: m.PlayerID, Ready: m.IsReady(now)}
	}
	return out
}
