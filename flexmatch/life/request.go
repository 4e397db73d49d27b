package life

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/fault"
)

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

// Given returns all values of a player, as rules see them.
func (p *Player) Given() map[string]ruleset.Given {
	out := make(map[string]ruleset.Given, len(p.Attributes))
	for name, a := range p.Attributes {
		out[name] = a.Given()
	}
	return out
}

// Searchable returns a ticket in the form that the search uses.
func Searchable(t *Ticket, r *Request) *search.Ticket {
	out := Outline(t)
	Fill(out, t, r)
	return out
}

// Outline is Searchable without the data of the players, which Fill adds.
func Outline(t *Ticket) *search.Ticket {
	here := 0
	for i := range t.Members {
		if !t.Members[i].Away {
			here++
		}
	}
	out := &search.Ticket{
		ID: t.ID, Created: t.Started, Arrival: arrival(t.Arrival), Backfill: t.Backfill, PlaysIn: t.PlaysIn,
		Players: make([]search.Player, here),
	}
	if t.Backfill {
		out.Session, out.Most = t.GameSessionID, t.Most
	}
	return out
}

// Fill adds the data of its players to the outline of a ticket.
func Fill(out *search.Ticket, t *Ticket, r *Request) {
	out.Players = out.Players[:0]
	for i := range r.Players {
		if t.Members[i].Away {
			continue
		}
		p := &r.Players[i]
		latency := make(map[string]float64, len(p.Latency))
		for location, ms := range p.Latency {
			latency[location] = float64(ms)
		}
		player := search.Player{ID: p.ID, Attributes: p.Given(), Latency: latency}
		if t.Backfill {
			player.Team = p.Team
		}
		out.Players = append(out.Players, player)
	}
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

// Bounds of a request (API reference, StartMatchmaking, StartMatchBackfill,
// Player, AttributeValue).
const (
	maxPlayers    = 10
	maxBackfill   = 199
	maxAttributes = 10
	maxStrings    = 100
	maxPairs      = 10
	maxText       = 100
	maxPlayerID   = 1024
)

// CheckPlayers checks the players of a request by the rules of the API and of the rule
// set. Data that only prevents a match is not an error.
func CheckPlayers(rs *ruleset.RuleSet, players []Player, backfill bool) error {
	most := maxPlayers
	if backfill {
		most = maxBackfill
	}
	if n := len(players); n < 1 || n > most {
		return fault.Invalid("Players: %d are given; 1 to %d are allowed", n, most)
	}
	seen := make(map[string]bool, len(players))
	for i := range players {
		p := &players[i]
		switch n := utf8.RuneCountInString(p.ID); {
		case n < 1 || n > maxPlayerID:
			return fault.Invalid("Players.%d.PlayerId: has %d characters; 1 to %d are allowed", i+1, n, maxPlayerID)
		case seen[p.ID]:
			return fault.Invalid("Players.%d.PlayerId: player %s is listed twice", i+1, p.ID)
		case backfill && rs.Instance(p.Team) < 0:
			return fault.Invalid("Players.%d.Team: %q is no team of the rule set; each player of a backfill needs one", i+1, p.Team)
		}
		seen[p.ID] = true
		if err := checkPlayer(rs, i+1, p); err != nil {
			return err
		}
	}
	return nil
}

// CheckRoom checks that a match could have more players than those of a backfill, at some age: kept
// slots stay free.
func CheckRoom(rs *ruleset.RuleSet, kept int, players []Player) error {
	inTeam := make([]int, len(rs.Instances))
	for i := range players {
		team := rs.Instance(players[i].Team)
		if team < 0 {
			continue // CheckPlayers refuses it
		}
		inTeam[team]++
		most := 0
		for _, level := range rs.Levels() {
			most = max(most, level.Sizes[team].Max)
		}
		if inTeam[team] > most {
			return fault.Invalid("Players.%d.Team: %s would have %d players or more; it holds at most %d", i+1, players[i].Team, inTeam[team], most)
		}
	}
	most := 0
	for _, level := range rs.Levels() {
		most = max(most, level.Capacity()-kept)
	}
	if len(players) >= most {
		return fault.Invalid("Players: %d are given, and a match has at most %d players; a backfill needs room for another one", len(players), most)
	}
	return nil
}

func checkPlayer(rs *ruleset.RuleSet, number int, p *Player) error {
	if n := len(p.Attributes); n > maxAttributes {
		return fault.Invalid("Players.%d.PlayerAttributes: has %d attributes; at most %d are allowed", number, n, maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
		a := p.Attributes[name]
		if text := a.wrong(); text != "" {
			return fault.Invalid("Players.%d.PlayerAttributes.%s: %s", number, name, text)
		}
		for _, declared := range rs.Attributes {
			if declared.Name == name && declared.Type != a.Given().Type {
				return fault.Invalid("Players.%d.PlayerAttributes.%s: is a %s; the rule set declares a %s", number, name, a.Given().Type, declared.Type)
			}
		}
	}
	for location, ms := range p.Latency {
		if ms < 1 {
			return fault.Invalid("Players.%d.LatencyInMs.%s: %d; must be 1 or more", number, location, ms)
		}
	}
	return nil
}

// wrong returns why the API does not allow a value, or "".
func (a Attribute) wrong() string {
	set := 0
	for _, given := range []bool{a.S != nil, a.N != nil, a.SL != nil, a.SDM != nil} {
		if given {
			set++
		}
	}
	switch {
	case set != 1:
		return "exactly one of S, N, SL, SDM must be given"
	case a.S != nil && !textFits(*a.S):
		return "S must have 1 to 100 characters"
	case a.N != nil && !finite(*a.N):
		return "N must be a finite number"
	case len(a.SL) > maxStrings:
		return "SL may have at most 100 strings"
	case slices.ContainsFunc(a.SL, func(s string) bool { return !textFits(s) }):
		return "each string of SL must have 1 to 100 characters"
	case len(a.SDM) > maxPairs:
		return "SDM may have at most 10 pairs"
	}
	for key, v := range a.SDM {
		if !textFits(key) || !finite(v) {
			return "each pair of SDM must have a key of 1 to 100 characters and a finite number"
		}
	}
	return ""
}

func textFits(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxText
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
