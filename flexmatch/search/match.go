package search

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Match is a set of tickets that may play together.
type Match struct {
	Tickets []*Ticket // the anchor first
	Teams   []int     // by ticket: its team, an index into RuleSet.Instances; -1 for backfill
	Level   int       // of the rule set, at the age of the match

	// Locations are those that the latency rules allow for all players, in alphabetical
	// order; nil if the rule set enforces none.
	Locations []string

	Rules []RuleCount // of the search that formed the match, empty if it was a large one; set by a pool only

	candidates []*Candidate
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

// Lineup returns the match as rules see it: every player in its team, with a value for
// each declared attribute. Parties are in the order of Tickets.
func (m *Match) Lineup(rs *ruleset.RuleSet) *ruleset.Lineup {
	return new(lineups).of(rs, m.candidates, m.Teams)
}

// Together returns a lineup of tickets whose players are all in the first team, for rules
// that do not depend on teams.
func Together(rs *ruleset.RuleSet, set ...*Candidate) *ruleset.Lineup {
	return new(lineups).together(rs, set)
}

// InTeam returns a lineup of one ticket whose players are all in a team, or in their own if they
// are in a game session.
func InTeam(rs *ruleset.RuleSet, c *Candidate, team int) *ruleset.Lineup {
	return new(lineups).of(rs, []*Candidate{c}, []int{team})
}

func newMatch(set []*Candidate, teams []int, level int) *Match {
	m := &Match{Level: level, candidates: slices.Clone(set), Tickets: make([]*Ticket, 0, len(set)), Teams: make([]int, 0, len(set))}
	for i, c := range set {
		m.Tickets = append(m.Tickets, c.Ticket)
		team := -1
		if !c.Party.Individuals {
			team = teams[i]
		}
		m.Teams = append(m.Teams, team)
	}
	return m
}

// Verify judges a match by the definition alone. The error describes the first condition
// that is not met.
func Verify(rs *ruleset.RuleSet, opts Options, m *Match, now time.Time) error {
	set := make([]*Candidate, len(m.Tickets))
	for i, t := range m.Tickets {
		c, ok := Prepare(rs, t)
		if !ok {
			return fmt.Errorf("ticket %s can never be matched", t.ID)
		}
		set[i] = c
	}
	_, err := verify(rs, opts, set, m.Teams, now, new(lineups))
	return err
}

// verify judges a match of candidates, and returns the locations that its latency rules
// allow.
func verify(rs *ruleset.RuleSet, opts Options, set []*Candidate, teams []int, now time.Time, memory *lineups) (locations []string, err error) {
	backfills, fresh, most := 0, 0, math.MaxInt
	for i, c := range set {
		if c.Party.Individuals {
			backfills++
			most = c.Most
			for _, o := range set {
				if o != c && !c.Joins(o) {
					return nil, fmt.Errorf("tickets %s and %s cannot be together: two backfills, or a player is in the game session", c.Ticket.ID, o.Ticket.ID)
				}
			}
		} else if teams[i] < 0 || teams[i] >= len(rs.Instances) {
			return nil, fmt.Errorf("ticket %s has no team", c.Ticket.ID)
		}
		fresh += c.Size
	}
	if backfills > 1 || fresh == 0 {
		return nil, fmt.Errorf("%d backfill tickets with %d new players", backfills, fresh)
	}
	level := rs.Levels()[0]
	if len(rs.Levels()) > 1 {
		level = rs.Level(Age(rs, set, now))
	}
	l := memory.of(rs, set, teams)
	if err := sizes(rs, opts, level, l, most); err != nil {
		return nil, err
	}
	broken, locations := level.Judge(l)
	if broken != nil {
		return nil, fmt.Errorf("rule %s does not hold", broken.Name)
	}
	return locations, nil
}

// sizes judges the sizes of teams, and that of the match, which is at most that of a game session.
func sizes(rs *ruleset.RuleSet, opts Options, level *ruleset.Level, l *ruleset.Lineup, most int) error {
	total := 0
	for i, team := range l.Teams {
		total += len(team)
		if size := level.Sizes[i]; len(team) < size.Min || len(team) > size.Max {
			return fmt.Errorf("team %s has %d players; it needs %d to %d", rs.Instances[i].Name, len(team), size.Min, size.Max)
		}
	}
	if most = min(most, level.Capacity()-opts.AdditionalPlayerCount); total > most {
		return fmt.Errorf("%d players; at most %d may play", total, most)
	}
	return nil
}

// Spread returns the distance between the highest and lowest team average of a number
// attribute, ignoring empty teams.
func Spread(l *ruleset.Lineup, attribute int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, team := range l.Teams {
		if len(team) == 0 {
			continue
		}
		total := 0.0
		for _, m := range team {
			total += m.Party.Players[m.Index].Values[attribute].Number
		}
		low, high = min(low, total/float64(len(team))), max(high, total/float64(len(team)))
	}
	return max(0, high-low)
}

// lineups builds lineups, each in the memory of the previous one.
type lineups struct{ lineup ruleset.Lineup }

// of returns candidates in their teams: the players of the game session first, then
// tickets in the order given.
func (b *lineups) of(rs *ruleset.RuleSet, set []*Candidate, teams []int) *ruleset.Lineup {
	l := b.empty(rs)
	for _, c := range set {
		l.Parties = append(l.Parties, &c.Party)
		for i, team := range c.Teams {
			l.Teams[team] = append(l.Teams[team], ruleset.Member{Party: &c.Party, Index: i})
		}
	}
	for n, c := range set {
		for i := range c.Size {
			l.Teams[teams[n]] = append(l.Teams[teams[n]], ruleset.Member{Party: &c.Party, Index: i})
		}
	}
	return l
}

func (b *lineups) together(rs *ruleset.RuleSet, set []*Candidate) *ruleset.Lineup {
	l := b.empty(rs)
	for _, c := range set {
		l.Add(&c.Party, 0)
	}
	return l
}

func (b *lineups) empty(rs *ruleset.RuleSet) *ruleset.Lineup {
	l := &b.lineup
	if l.Teams == nil {
		l.Teams = make([][]ruleset.Member, len(rs.Instances))
	}
	l.Parties = l.Parties[:0]
	for i := range l.Teams {
		l.Teams[i] = l.Teams[i][:0]
	}
	return l
}
