package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Limits bounds the effort. A zero member means its default.
type Limits struct {
	Others     int // tickets that one is compared with; default 2000
	Candidates int // tickets tried for a group; default 400
	Placements int // ways to distribute a group over the teams; default 64
	Ahead      int // tickets played ahead; default 2000, -1 for none
	Passes     int // moments played ahead; default 128
	Tickets    int // tickets of a pool examined individually; default 48
}

func (l Limits) defaults() Limits {
	for _, d := range []struct {
		at    *int
		value int
	}{{&l.Others, 2000}, {&l.Candidates, 400}, {&l.Placements, 64}, {&l.Ahead, 2000}, {&l.Passes, 128}, {&l.Tickets, 48}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	return l
}

// world is the input of an explanation: rules, waiting tickets, a time.
type world struct {
	rs      *ruleset.RuleSet
	opts    search.Options
	now     time.Time
	limits  Limits
	pairing []int     // enforced rules that stay broken as a match grows
	waiting []*ticket // oldest first
}

// ticket is a waiting ticket. resolve sets all members but Ticket when needed, because few
// tickets of a large pool are examined.
type ticket struct {
	*search.Ticket
	party *ruleset.Party // as rules see it
	seats []int          // of backfill: its players' teams
	never []Cause
}

func newWorld(rs *ruleset.RuleSet, opts search.Options, tickets []*search.Ticket, now time.Time, limits Limits) *world {
	w := &world{rs: rs, opts: opts, now: now, limits: limits.defaults()}
	for i, r := range rs.Level(0).Rules {
		if r.Enforced && rs.Traits(i).Shrinks {
			w.pairing = append(w.pairing, i)
		}
	}
	w.waiting = make([]*ticket, len(tickets))
	for i, t := range tickets {
		w.waiting[i] = &ticket{Ticket: t}
	}
	slices.SortFunc(w.waiting, older)
	return w
}

func older(a, b *ticket) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Arrival, b.Arrival))
}

// resolve sets a ticket's values, and the causes if it can never be matched.
func (w *world) resolve(o *ticket) *ticket {
	if o.party != nil {
		return o
	}
	o.party = &ruleset.Party{Individuals: o.Backfill, Players: make([]ruleset.Player, len(o.Players))}
	for i, p := range o.Players {
		values, missing := w.rs.Resolve(p.Attributes)
		for _, name := range missing {
			o.never = append(o.never, Cause{Code: MissingAttribute, Player: p.ID, Name: name,
				Text: "player " + p.ID + " has no value for the attribute " + name + ", which has no default"})
		}
		if w.rs.HasLatency && len(p.Latency) == 0 {
			o.never = append(o.never, Cause{Code: NoLatency, Player: p.ID,
				Text: "player " + p.ID + " brings no latency, and the rule set has a latency rule"})
		}
		o.party.Players[i] = ruleset.Player{ID: p.ID, Values: values, Latency: p.Latency}
	}
	if o.Backfill {
		w.seat(o)
	} else {
		w.roomFor(o)
	}
	return o
}

// seat finds the teams of a game session's players.
func (w *world) seat(o *ticket) {
	filled := make([]int, len(w.rs.Instances))
	for _, p := range o.Players {
		seat := slices.IndexFunc(w.rs.Instances, func(i ruleset.Instance) bool { return i.Name == p.Team })
		if seat < 0 {
			o.never = append(o.never, Cause{Code: UnknownTeam, Player: p.ID, Name: p.Team, Text: "player " + p.ID + " is in team " + p.Team + ", which the rule set does not have"})
			continue
		}
		filled[seat]++
		o.seats = append(o.seats, seat)
	}
	open := slices.ContainsFunc(w.rs.Levels(), func(l *ruleset.Level) bool {
		for i, n := range filled {
			if n > l.Sizes[i].Max {
				return false
			}
		}
		return len(o.Players) < l.Capacity()-w.opts.AdditionalPlayerCount
	})
	if !open {
		o.never = append(o.never, Cause{Code: SessionFull, Text: "the game session has no free slot in any team"})
	}
}

func (w *world) roomFor(o *ticket) {
	if slices.ContainsFunc(w.rs.Levels(), func(l *ruleset.Level) bool { return w.fitsAlone(l, len(o.Players)) }) {
		return
	}
	o.never = append(o.never, Cause{Code: PartyTooLarge, Text: "the party is larger than every team ever may be"})
}

func (w *world) fitsAlone(l *ruleset.Level, players int) bool {
	return players <= l.Capacity()-w.opts.AdditionalPlayerCount &&
		slices.ContainsFunc(l.Sizes, func(s ruleset.Size) bool { return players <= s.Max })
}

// sample returns at most n tickets other than but, evenly distributed by age.
func (w *world) sample(but *ticket, n int) []*ticket {
	others := len(w.waiting)
	if but != nil {
		others--
	}
	out := make([]*ticket, 0, min(n, others))
	at, taken := 0, 0
	for _, o := range w.waiting {
		if o == but {
			continue
		}
		if others <= n || at*n/others >= taken {
			out = append(out, w.resolve(o))
			taken++
		}
		at++
	}
	return out[:min(len(out), n)]
}

// age returns the age of a match of the tickets.
func (w *world) age(set []*ticket) time.Duration {
	created := set[0].Created
	for _, o := range set[1:] {
		if o.Created.After(created) != w.rs.Algorithm.OldestAge {
			created = o.Created
		}
	}
	return w.now.Sub(created)
}

// together returns all players in the first team, for rules that do not depend on teams.
func (w *world) together(set ...*ticket) *ruleset.Lineup {
	l := &ruleset.Lineup{Teams: make([][]ruleset.Member, len(w.rs.Instances))}
	for _, o := range set {
		w.join(l, o)
	}
	return l
}

func (w *world) join(l *ruleset.Lineup, o *ticket) {
	l.Parties = append(l.Parties, o.party)
	for i := range o.party.Players {
		l.Teams[0] = append(l.Teams[0], ruleset.Member{Party: o.party, Index: i})
	}
}

// broken returns the pairing rules that a lineup breaks at a level. If rules about
// locations pass individually but share no location, it returns the last of them.
func (w *world) broken(level *ruleset.Level, l *ruleset.Lineup) []int {
	var out, located []int
	for _, i := range w.pairing {
		if !level.Holds(i, l) {
			out = append(out, i)
		} else if level.Rules[i].Traits.Located() {
			located = append(located, i)
		}
	}
	if n := len(located); n > 1 && len(level.Locations(l, located)) == 0 {
		out = append(out, located[n-1])
	}
	return out
}
