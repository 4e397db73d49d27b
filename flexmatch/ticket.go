package flexmatch

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Answer is what a player said to a potential match (AcceptanceType).
type Answer string

// The answers of the API.
const (
	Accept Answer = "ACCEPT"
	Reject Answer = "REJECT"
)

// Ticket is the moving part of a matchmaking ticket; what its players brought is
// in Request.
type Ticket struct {
	ID            string    `json:"id"`
	Configuration string    `json:"configuration"`
	Status        Status    `json:"status"`
	Reason        string    `json:"reason,omitzero"`
	Message       string    `json:"message,omitzero"`
	Started       time.Time `json:"started"`
	Ended         time.Time `json:"ended,omitzero"`
	Deadline      time.Time `json:"deadline"` // of the request; counts while it waits
	Arrival       string    `json:"arrival"`  // sorts by when it came
	Members       []Member  `json:"members"`
	MatchID       string    `json:"match_id,omitzero"` // the latest match it was in

	// Of a backfill ticket.
	Backfill      bool   `json:"backfill,omitzero"`
	Automatic     bool   `json:"automatic,omitzero"`
	GameSessionID string `json:"game_session_id,omitzero"` // also of a COMPLETED ticket

	// Where the game is, once COMPLETED.
	IPAddress string `json:"ip_address,omitzero"`
	DNSName   string `json:"dns_name,omitzero"`
	Port      int    `json:"port,omitzero"`

	Rules     []RuleCount `json:"rules,omitzero"` // of the searches around it, once over
	ArchiveAt time.Time   `json:"archive_at,omitzero"`
}

// Member is a player of a ticket, as far as matchmaking moves it.
type Member struct {
	PlayerID        string `json:"p"`
	Team            string `json:"t,omitzero"`
	Answer          Answer `json:"a,omitzero"`
	PlayerSessionID string `json:"s,omitzero"`
}

// RuleCount counts how often a rule held and did not hold while a match was
// looked for (ruleEvaluationMetrics).
type RuleCount struct {
	Rule   string `json:"rule"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// Request is what the players of a ticket brought. It is written once.
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

// Attribute is a value as on the wire: exactly one member is set.
type Attribute struct {
	S   *string            `json:"s,omitzero"`
	N   *float64           `json:"n,omitzero"`
	SL  []string           `json:"sl,omitzero"`
	SDM map[string]float64 `json:"sdm,omitzero"`
}

// Given gives the value as rules see it.
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

// given gives all values of a player.
func (p *Player) given() map[string]ruleset.Given {
	out := make(map[string]ruleset.Given, len(p.Attributes))
	for name, a := range p.Attributes {
		out[name] = a.Given()
	}
	return out
}

// Searchable gives a ticket as the search takes it.
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

// arrival turns an identifier of the store into its order: 48 bits of
// milliseconds and 12 that count.
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

// due is the next time at which the ticket needs attention whatever else
// happens, or zero.
func (t *Ticket) due() time.Time {
	switch {
	case t.Status.Over():
		return t.ArchiveAt
	case t.Status.Waits():
		return t.Deadline
	}
	return time.Time{}
}

// accepted tells whether every player of the ticket accepted. Those of a
// backfill are not asked.
func (t *Ticket) accepted() bool {
	return t.Backfill || !slices.ContainsFunc(t.Members, func(m Member) bool { return m.Answer != Accept })
}

// edit gives a copy to change: rows are never changed in place.
func (t *Ticket) edit() *Ticket {
	c := *t
	c.Members = slices.Clone(t.Members)
	return &c
}

// leave forgets the match that came to nothing. Teams of a backfill are its own.
func (t *Ticket) leave() {
	for i := range t.Members {
		m := &t.Members[i]
		if m.Answer, m.PlayerSessionID = "", ""; !t.Backfill {
			m.Team = ""
		}
	}
}

// player gives a member by player id, or nil.
func (t *Ticket) player(id string) *Member {
	for i := range t.Members {
		if t.Members[i].PlayerID == id {
			return &t.Members[i]
		}
	}
	return nil
}
