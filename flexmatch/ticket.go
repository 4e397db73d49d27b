package flexmatch

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Answer is a player's answer to a potential match (AcceptanceType).
type Answer string

// The answers of the API.
const (
	Accept Answer = "ACCEPT"
	Reject Answer = "REJECT"
)

// Ticket is the part of a matchmaking ticket that changes. Its players' data is in
// Request.
type Ticket struct {
	ID            string    `json:"id"`
	Configuration string    `json:"configuration"`
	Status        Status    `json:"status"`
	Reason        string    `json:"reason,omitzero"`
	Message       string    `json:"message,omitzero"`
	Started       time.Time `json:"started"`
	Ended         time.Time `json:"ended,omitzero"`
	Deadline      time.Time `json:"deadline"` // of the request; applies while the ticket waits
	Arrival       string    `json:"arrival"`  // sorts by time of arrival
	Members       []Member  `json:"members"`
	MatchID       string    `json:"match_id,omitzero"` // the latest match it was in

	// Set for a backfill ticket.
	Backfill      bool   `json:"backfill,omitzero"`
	Automatic     bool   `json:"automatic,omitzero"`
	GameSessionID string `json:"game_session_id,omitzero"` // also of a COMPLETED ticket

	// Set when COMPLETED: how to reach the game session.
	IPAddress string `json:"ip_address,omitzero"`
	DNSName   string `json:"dns_name,omitzero"`
	Port      int    `json:"port,omitzero"`

	Rules     []RuleCount `json:"rules,omitzero"` // of the searches around it, once it has ended
	ArchiveAt time.Time   `json:"archive_at,omitzero"`
}

// Member is the part of a ticket's player that matchmaking changes.
type Member struct {
	PlayerID        string `json:"p"`
	Team            string `json:"t,omitzero"`
	Answer          Answer `json:"a,omitzero"`
	PlayerSessionID string `json:"s,omitzero"`
}

// RuleCount counts how often a rule passed and failed in a search for a match
// (ruleEvaluationMetrics).
type RuleCount struct {
	Rule   string `json:"rule"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// Request is the data that the players of a ticket provided. It is written once.
type Request struct {
	ID      string   `json:"id"`
	Players []Player `json:"players"`
}

// Player is one player of a request.
type Player struct {
	ID         string               `json:"id"`
	Attributes map[string]Attribute `json:"attributes,omitzero"`
	Latency    map[string]int       `json:"latency,omitzero"` // milliseconds by location
	Team       string               `json:"team,omitzero"`    // of a backfill
}

// Attribute is a value as in requests: exactly one member is set.
type Attribute struct {
	S   *string            `json:"s,omitzero"`
	N   *float64           `json:"n,omitzero"`
	SL  []string           `json:"sl,omitzero"`
	SDM map[string]float64 `json:"sdm,omitzero"`
}

// Given returns the value as rules see it.
func (a Attribute) Given() ruleset.Given {
	switch {
	case a.S != nil:
		return ruleset.Given{Type: ruleset.String, Value: ruleset.Value{String: *a.S}}
	case a.N != nil:
		return ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: *a.N}}
	case a.SDM != nil:
		return ruleset.Given{Type: ruleset.NumberMap, Value: ruleset.Value{Map: a.SDM}}
	}
	return ruleset.Given{Type: ruleset.StringSet, Value: ruleset.Value{Strings: a.SL}}
}

// given returns all values of a player.
func (p *Player) given() map[string]ruleset.Given {
	out := make(map[string]ruleset.Given, len(p.Attributes))
	for name, a := range p.Attributes {
		out[name] = a.Given()
	}
	return out
}

// Searchable returns a ticket in the form that the search uses.
func Searchable(t *Ticket, r *Request) *search.Ticket {
	out := &search.Ticket{
		ID: t.ID, Created: t.Started, Arrival: arrival(t.Arrival), Backfill: t.Backfill,
		Players: make([]search.Player, len(r.Players)),
	}
	for i := range r.Players {
		p := &r.Players[i]
		latency := make(map[string]float64, len(p.Latency))
		for location, ms := range p.Latency {
			latency[location] = float64(ms)
		}
		out.Players[i] = search.Player{ID: p.ID, Attributes: p.given(), Latency: latency}
		if t.Backfill {
			out.Players[i].Team = p.Team
		}
	}
	return out
}

// arrival returns the sort order of an identifier of the store: 48 bits of milliseconds
// and a counter of 12 bits.
func arrival(id string) uint64 {
	hex := strings.ReplaceAll(id, "-", "")
	if len(hex) < 16 {
		return 0
	}
	n, err := strconv.ParseUint(hex[:12]+hex[13:16], 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// due returns the next time at which the ticket must be timed out or archived, or zero.
func (t *Ticket) due() time.Time {
	switch {
	case t.Status.Over():
		return t.ArchiveAt
	case t.Status.Waits():
		return t.Deadline
	}
	return time.Time{}
}

// accepted reports whether every player of the ticket accepted. Those of a backfill are
// not asked.
func (t *Ticket) accepted() bool {
	return t.Backfill || !slices.ContainsFunc(t.Members, func(m Member) bool { return m.Answer != Accept })
}

// edit returns a copy to modify: rows are never modified in place.
func (t *Ticket) edit() *Ticket {
	c := *t
	c.Members = slices.Clone(t.Members)
	return &c
}

// leave clears the data of a dissolved match. A backfill keeps its teams, which come from
// its request.
func (t *Ticket) leave() {
	for i := range t.Members {
		m := &t.Members[i]
		if m.Answer, m.PlayerSessionID = "", ""; !t.Backfill {
			m.Team = ""
		}
	}
}

// player returns the member with a player id, or nil.
func (t *Ticket) player(id string) *Member {
	for i := range t.Members {
		if t.Members[i].PlayerID == id {
			return &t.Members[i]
		}
	}
	return nil
}
