package search

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Ticket is a request for a match.
type Ticket struct {
	ID      string
	Created time.Time // the ticket's age counts from this time
	Arrival uint64    // orders tickets created at the same time, lowest first
	Players []Player

	// Backfill says that the players are in a game session that needs more; each names
	// its team.
	Backfill bool
}

// Player is one player of a ticket.
type Player struct {
	ID         string
	Team       string // of a backfill ticket's player: the team's name
	Attributes map[string]ruleset.Given
	Latency    map[string]float64 // milliseconds by location
}

// Options are the settings that a configuration adds to its rule set.
type Options struct {
	// AdditionalPlayerCount is how many slots of every match stay free, 0 or more.
	AdditionalPlayerCount int
}

// Match is a set of tickets that may play together.
type Match struct {
	Tickets []*Ticket // the anchor first
	Teams   []int     // by ticket: its team, an index into RuleSet.Instances; -1 for backfill
	Level   int       // of the rule set, at the age of the match

	// Locations are those that the latency rules allow for all players, in alphabetical
	// order; nil if the rule set enforces none.
	Locations []string

	// Evaluations says how often each rule of Evaluated was judged in the search that
	// formed the match. Only a Pool sets it.
	Evaluations []Evaluation

	entries []*entry
}

// NewPlayers returns the number of players in all tickets except backfill.
func (m *Match) NewPlayers() int {
	n := 0
	for _, t := range m.Tickets {
		if !t.Backfill {
			n += len(t.Players)
		}
	}
	return n
}

// entry is a ticket prepared for searching.
type entry struct {
	ticket *Ticket
	party  *ruleset.Party
	seats  []int // of a backfill ticket: its players' teams
	size   int   // new players; 0 for backfill
	held   int   // players in the game session; 0 except for backfill
	alike  int   // equal for tickets that no rule distinguishes

	near []string // for large matches: locations allowed at some age, best first; nil until computed
}

// prepare resolves the players' values. It returns false if the ticket can never be
// matched.
func prepare(rs *ruleset.RuleSet, t *Ticket) (*entry, bool) {
	e := &entry{ticket: t, party: &ruleset.Party{Individuals: t.Backfill, Created: t.Created, Players: make([]ruleset.Player, len(t.Players))}}
	for i, p := range t.Players {
		values, missing := rs.Resolve(p.Attributes)
		if len(missing) > 0 || rs.HasLatency && len(p.Latency) == 0 {
			return nil, false
		}
		e.party.Players[i] = ruleset.Player{ID: p.ID, Values: values, Latency: p.Latency}
	}
	if !t.Backfill {
		e.size = len(t.Players)
		return e, e.size > 0
	}
	e.held = len(t.Players)
	for _, p := range t.Players {
		seat := instance(rs, p.Team)
		if seat < 0 {
			return nil, false
		}
		e.seats = append(e.seats, seat)
	}
	return e, e.held > 0
}

func instance(rs *ruleset.RuleSet, name string) int {
	for i := range rs.Instances {
		if rs.Instances[i].Name == name {
			return i
		}
	}
	return -1
}

// seating builds lineups, each in the memory of the previous one.
type seating struct{ lineup ruleset.Lineup }

// of returns entries in their teams: the players of the game session first, then tickets
// in the order given.
func (s *seating) of(rs *ruleset.RuleSet, entries []*entry, teams []int) *ruleset.Lineup {
	l := s.empty(rs)
	for _, e := range entries {
		l.Parties = append(l.Parties, e.party)
		for i, seat := range e.seats {
			l.Teams[seat] = append(l.Teams[seat], ruleset.Member{Party: e.party, Index: i})
		}
	}
	for n, e := range entries {
		for i := range e.size {
			l.Teams[teams[n]] = append(l.Teams[teams[n]], ruleset.Member{Party: e.party, Index: i})
		}
	}
	return l
}

// together returns all players in the first team, for rules that do not depend on teams.
func (s *seating) together(rs *ruleset.RuleSet, entries []*entry) *ruleset.Lineup {
	l := s.empty(rs)
	for _, e := range entries {
		l.Parties = append(l.Parties, e.party)
		for i := range e.party.Players {
			l.Teams[0] = append(l.Teams[0], ruleset.Member{Party: e.party, Index: i})
		}
	}
	return l
}

func (s *seating) empty(rs *ruleset.RuleSet) *ruleset.Lineup {
	l := &s.lineup
	if l.Teams == nil {
		l.Teams = make([][]ruleset.Member, len(rs.Instances))
	}
	l.Parties = l.Parties[:0]
	for i := range l.Teams {
		l.Teams[i] = l.Teams[i][:0]
	}
	return l
}

// newMatch returns a match of entries and their teams.
func newMatch(entries []*entry, teams []int, level int) *Match {
	m := &Match{Level: level, entries: slices.Clone(entries), Tickets: make([]*Ticket, 0, len(entries)), Teams: make([]int, 0, len(entries))}
	for i, e := range entries {
		m.Tickets = append(m.Tickets, e.ticket)
		team := -1
		if !e.ticket.Backfill {
			team = teams[i]
		}
		m.Teams = append(m.Teams, team)
	}
	return m
}
