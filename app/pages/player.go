package pages

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/session"
)

// Stay is a player's time in one game session.
type Stay struct {
	Session string               `json:"session"`
	FleetID string               `json:"fleet_id"`
	Status  session.PlayerStatus `json:"status"`
	Created time.Time            `json:"created"`
	Ended   time.Time            `json:"ended,omitzero"`
}

// PlayerPage is a player's page.
type PlayerPage struct {
	ID      string         `json:"id"`
	Stays   []Stay         `json:"stays"` // newest first
	More    bool           `json:"more"`  // there are older ones
	Tickets []TicketRow    `json:"tickets"`
	Account *PlayerAccount `json:"account,omitempty"` // of the player API
	Party   *PlayerParty   `json:"party,omitempty"`
}

// PlayerAccount is what the player API knows of a player.
type PlayerAccount struct {
	Name    string    `json:"name,omitempty"`
	Created time.Time `json:"created"`
	Links   []string  `json:"links"`
	Banned  bool      `json:"banned"`
	Reason  string    `json:"reason,omitempty"`
	Until   time.Time `json:"until,omitzero"`
}

// PlayerParty is the party that a player is in.
type PlayerParty struct {
	ID      string   `json:"id"`
	Leader  string   `json:"leader"`
	Members []string `json:"members"`
}

// Player returns a player's page. A player of whom nothing is known has an empty one.
func (p *Pages) Player(ctx context.Context, caller auth.Caller, id string) (*PlayerPage, error) {
	out := &PlayerPage{ID: id, Stays: []Stay{}, Tickets: []TicketRow{}}
	view := p.Store.View()
	reaches := func(gameSessionID string) bool { return caller.Reaches(p.fleetOf(gameSessionID)) }
	stays, more, err := p.Sessions.Players.List(ctx, session.PlayerQuery{PlayerID: id, Games: reaches, Limit: 500})
	if err != nil {
		return nil, err
	}
	out.More = more
	for _, s := range stays {
		out.Stays = append(out.Stays, Stay{Session: s.GameSessionID, FleetID: s.FleetID, Status: s.Status, Created: s.Created, Ended: s.Ended})
	}
	slices.Reverse(out.Stays)
	for t := range p.Matches.OfPlayer(view, id) {
		out.Tickets = append(out.Tickets, ticketRow(t))
	}
	p.mu.Lock()
	histories := make([]*matchHistory, 0, len(p.configurations))
	for _, h := range p.configurations {
		histories = append(histories, h)
	}
	p.mu.Unlock()
	for _, h := range histories {
		for _, t := range h.ended.list() {
			if row := ticketRow(t); slices.Contains(row.Players, id) {
				out.Tickets = append(out.Tickets, row)
			}
		}
	}
	slices.SortFunc(out.Tickets, func(a, b TicketRow) int { return b.Started.Compare(a.Started) })
	p.addAccount(out, id)
	return out, nil
}

// addAccount adds what the player API knows of a player, if it does.
func (p *Pages) addAccount(out *PlayerPage, id string) {
	account, err := p.Identity.Accounts.Get(id)
	if err != nil {
		return // a player of the API only
	}
	out.Account = &PlayerAccount{Name: account.DisplayName, Created: account.Created, Links: []string{}}
	if account.Banned(time.Now()) {
		out.Account.Banned, out.Account.Reason, out.Account.Until = true, account.BanReason, account.BannedUntil
	}
	for _, l := range p.Identity.Accounts.Links(id) {
		out.Account.Links = append(out.Account.Links, l.Provider)
	}
	if party := p.Lobby.Parties.Of(p.Store.View(), id); party != nil {
		out.Party = &PlayerParty{ID: party.ID, Leader: party.Leader, Members: []string{}}
		for _, m := range party.Members {
			out.Party.Members = append(out.Party.Members, m.PlayerID)
		}
	}
}
