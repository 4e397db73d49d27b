package flexmatch

import (
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/store"
)

// Matched is a match that has got its game. All of it is immutable.
type Matched struct {
	*Match
	Of       []*Ticket  // its tickets, in order of arrival
	Requests []*Request // of Of
}

// OnMatched registers f to be called in each transaction that completes a match. It must be
// called before the store is opened.
func (s *Service) OnMatched(f func(*store.Tx, *Matched)) {
	s.lives.matched = append(s.lives.matched, f)
}

// tellMatched calls the functions of OnMatched.
func (c *change) tellMatched(m *Match) {
	if m.Result != string(life.Completed) || len(c.matched) == 0 {
		return
	}
	out := &Matched{Match: m, Of: c.Tickets(m)}
	for _, t := range out.Of {
		out.Requests = append(out.Requests, c.t.requests.Get(c.tx, t.ID))
	}
	for _, f := range c.matched {
		f(c.tx, out)
	}
}

// Compiled returns a rule set by name. Errors: NotFound.
func (s *RuleSets) Compiled(r store.Reader, name string) (*ruleset.RuleSet, error) {
	return s.of(r, &Configuration{RuleSet: name})
}

// Lineup returns who plays in which team, as rules see it; ok is false if the rule set has
// not all teams of the match, as after a change of its names.
func (m *Matched) Lineup(rs *ruleset.RuleSet) (l *ruleset.Lineup, ok bool) {
	l = &ruleset.Lineup{Teams: make([][]ruleset.Member, len(rs.Instances))}
	for i, request := range m.Requests {
		p := &ruleset.Party{Individuals: m.Of[i].Backfill}
		for j := range request.Players {
			if m.Of[i].Members[j].Away {
				continue
			}
			player := &request.Players[j]
			team := rs.Instance(m.Of[i].Members[j].Team)
			if team < 0 {
				return nil, false
			}
			values, _ := rs.Resolve(player.Given())
			latency := make(map[string]float64, len(player.Latency))
			for location, millis := range player.Latency {
				latency[location] = float64(millis)
			}
			p.Players = append(p.Players, ruleset.Player{ID: player.ID, Values: values, Latency: latency})
			l.Teams[team] = append(l.Teams[team], ruleset.Member{Party: p, Index: len(p.Players) - 1})
		}
		l.Parties = append(l.Parties, p)
	}
	return l, true
}
