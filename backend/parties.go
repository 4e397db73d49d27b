package backend

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

func (rq *request) createParty() (answer, error) {
	in, err := decode[protocol.PartyRequest](rq)
	if err != nil {
		return answer{}, err
	}
	m, err := find(rq.b.matchmakers(), func(m *Matchmaker) bool { return m.Name == in.Matchmaker }, "matchmaker", in.Matchmaker)
	if err != nil {
		return answer{}, err
	}
	most := m.MaxParty
	if in.Max > 0 {
		most = min(most, int(min(in.Max, mostParty)))
	}
	return rq.party(http.StatusCreated, partyArgs{Do: partyCreate, New: Party{Matchmaker: m.Name, Max: most}})
}

// party executes the player's action and answers with the party.
func (rq *request) party(status int, a partyArgs) (answer, error) {
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	a.By = rq.player.PlayerID
	p, err := rq.b.cmd.party.Do(rq.http.Context(), a)
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, body: p.out(time.Now())}, nil
}

func (rq *request) joinParty() (answer, error) {
	in, err := decode[protocol.PartyJoin](rq)
	if err != nil {
		return answer{}, err
	}
	return rq.party(http.StatusOK, partyArgs{Do: partyJoin, Code: strings.ToUpper(in.Code)})
}

func (rq *request) getParty() (answer, error) {
	p := rq.b.t.parties.Get(rq.b.st.View(), rq.param("party"))
	if p == nil || !p.has(rq.player.PlayerID) {
		return answer{}, refuse("not-found", "you are in no such party")
	}
	return ok(p.out(time.Now()))
}

func (rq *request) changeMember() (answer, error) {
	in, err := decode[protocol.MemberChange](rq)
	if err != nil {
		return answer{}, err
	}
	m := PartyMember{Latency: in.LatencyMs}
	if len(in.LatencyMs) > mostSamples {
		return answer{}, refuse("latency-rejected", "latency_ms: at most 64 locations")
	}
	if in.Ready {
		m.Ready = time.Now() // the command sets the actual time
	}
	if len(in.Attributes) > 0 {
		text, err := json.Marshal(in.Attributes, json.Deterministic(true))
		if err != nil {
			return answer{}, err
		}
		m.Attributes = string(text)
	}
	return rq.party(http.StatusOK, partyArgs{Do: partyChange, Party: rq.param("party"), Member: m})
}

func (rq *request) leaveParty() (answer, error) {
	target := rq.param("player")
	if target == "me" {
		target = rq.player.PlayerID
	}
	_, err := rq.party(http.StatusNoContent, partyArgs{Do: partyLeave, Party: rq.param("party"), Target: target})
	return done(err)
}

func (p *Party) out(now time.Time) *protocol.Party {
	out := &protocol.Party{
		PartyID: p.ID, Code: p.Code, Leader: p.Leader, Matchmaker: p.Matchmaker, Max: int64(p.Max), ExpiresAt: p.Expires,
		Members: make([]protocol.PartyMember, len(p.Members)),
	}
	for i, m := range p.Members {
		out.Members[i] = protocol.PartyMember{PlayerID: m.PlayerID, Ready: m.ready(now)}
	}
	return out
}
