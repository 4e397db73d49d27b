package pages

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Stay is a player's time in one game session.
type Stay struct {
	Session string               `json:"session"`
	FleetID string               `json:"fleet_id"`
	Status  session.PlayerStatus `json:"status"`
	Created time.Time            `json:"created"`
	Ended   time.Time            `json:"ended,omitzero"`
	Reason  string               `json:"reason,omitempty"` // why the game session ended, as in SessionRow; only of the newest explained ones
}

// explained is of how many of a player's game sessions the page says why they ended.
const explained = 20

// PlayerPage is a player's page.
type PlayerPage struct {
	ID      string         `json:"id"`
	Stays   []Stay         `json:"stays"` // newest first
	More    bool           `json:"more"`  // there are older ones
	Tickets []TicketRow    `json:"tickets"`
	Account *PlayerAccount `json:"account,omitempty"` // of the player API
	Party   *PlayerParty   `json:"party,omitempty"`
	// Latencies are what the player last reported, in milliseconds by location: to the
	// player API, or with a ticket that is still in memory.
	Latencies map[string]int `json:"latencies,omitempty"`
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

// Player returns a player's page: what the caller's scope allows of it. A player of whom
// nothing is known has an empty one.
func (p *Pages) Player(ctx context.Context, caller auth.Caller, id string) (*PlayerPage, error) {
	out := &PlayerPage{ID: id, Stays: []Stay{}, Tickets: []TicketRow{}}
	view := p.Store.View()
	reaches := func(gameSessionID string) bool { return p.reachesSession(caller, gameSessionID) }
	stays, more, err := p.Sessions.Players.List(ctx, session.PlayerQuery{PlayerID: id, Games: reaches, Limit: 500})
	if err != nil {
		return nil, err
	}
	out.More = more
	for _, s := range stays {
		out.Stays = append(out.Stays, Stay{Session: s.GameSessionID, FleetID: s.FleetID, Status: s.Status, Created: s.Created, Ended: s.Ended})
	}
	slices.Reverse(out.Stays)
	for i := range out.Stays[:min(len(out.Stays), explained)] {
		g, err := p.Sessions.Get(ctx, out.Stays[i].Session)
		if err != nil {
			return nil, err
		}
		if g != nil {
			out.Stays[i].Reason = reasonOf(g)
		}
	}
	for t := range p.Matches.OfPlayer(view, id) {
		if caller.Reaches(p.Matches.Configurations.ARN(t.Configuration)) {
			out.Tickets = append(out.Tickets, ticketRow(t))
		}
	}
	p.mu.Lock()
	histories := make([]*matchHistory, 0, len(p.configurations))
	for name, h := range p.configurations {
		if caller.Reaches(p.Matches.Configurations.ARN(name)) {
			histories = append(histories, h)
		}
	}
	p.mu.Unlock()
	for _, h := range histories {
		for _, t := range h.ended.list() {
			if row := ticketRow(t); slices.Contains(row.Players, id) {
				out.Tickets = append(out.Tickets, row)
			}
		}
	}
	slices.SortFunc(out.Tickets, func(a, b TicketRow) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.ID, b.ID))
	})
	if !caller.Scoped() { // an account concerns everything
		p.addAccount(out, id)
		out.Latencies = p.latenciesOf(view, id, out.Tickets)
	}
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

// latenciesOf returns the latencies that a player last reported.
func (p *Pages) latenciesOf(view store.Reader, id string, tickets []TicketRow) map[string]int {
	if reported := p.Lobby.Latencies.Of(id); reported != nil {
		return reported
	}
	for _, t := range tickets { // newest first
		r := p.Matches.RequestOf(view, t.ID)
		if r == nil {
			continue
		}
		for i := range r.Players {
			if r.Players[i].ID == id && len(r.Players[i].Latency) > 0 {
				return r.Players[i].Latency
			}
		}
	}
	return nil
}

// StoredValue is a value that is stored for a player.
type StoredValue struct {
	Namespace identity.Namespace `json:"namespace"`
	Key       string             `json:"key"`
	Value     string             `json:"value"` // JSON, at most the first storedMost bytes
	Size      int                `json:"size"`  // of all of it, in bytes
	Version   int64              `json:"version"`
	Updated   time.Time          `json:"updated"`
}

// PlayerData is what is stored for a player.
type PlayerData struct {
	Values []StoredValue `json:"values"` // by namespace and key
}

// storedMost bounds how much of a value a page gets.
const storedMost = 4 << 10

// PlayerData returns what is stored for a player of the player API. Errors: NotFound.
func (p *Pages) PlayerData(id string) (*PlayerData, error) {
	if _, err := p.Identity.Accounts.Get(id); err != nil {
		return nil, fault.Missing("id: player %.128q has no account", id)
	}
	out := &PlayerData{Values: []StoredValue{}}
	for _, ns := range []identity.Namespace{identity.Private, identity.Public, identity.Secret, identity.Server} {
		all, err := p.Identity.Data.All(id, ns)
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			v := StoredValue{Namespace: ns, Key: d.Key, Value: d.Value, Size: len(d.Value), Version: d.Version, Updated: d.Updated}
			v.Value = strings.ToValidUTF8(v.Value[:min(len(v.Value), storedMost)], "")
			out.Values = append(out.Values, v)
		}
	}
	return out, nil
}
