package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// nearest finds the largest group around a ticket: candidates join in several orders, and
// the group nearest to a match is returned.
func (w *world) nearest(t *one, compatible []*one) *Group {
	var best *crowd
	for _, order := range w.orders(t, compatible) {
		c := w.gather(t, order)
		c.arrange()
		if best == nil || c.better(best) {
			best = c
		}
	}
	return best.told()
}

// orders returns the orders in which candidates may join: by age, and for up to two
// windows by distance from the ticket, from both sides and from each side only.
func (w *world) orders(t *one, compatible []*one) [][]*one {
	byAge := slices.Clone(compatible[:min(len(compatible), w.limits.Candidates)])
	out := [][]*one{byAge}
	windows := 0
	for i, r := range w.rs.Level(0).Rules {
		window, ok := w.rs.Traits(i).Column.(ruleset.Window)
		if !ok || !r.Enforced || windows == 2 {
			continue
		}
		windows++
		value := func(o *one) float64 { return o.party.PartyNumber(window.Attribute, window.Party) }
		origin := value(t)
		near := slices.Clone(compatible)
		slices.SortStableFunc(near, func(a, b *one) int {
			return cmp.Compare(math.Abs(value(a)-origin), math.Abs(value(b)-origin))
		})
		near = near[:min(len(near), w.limits.Candidates)]
		out = append(out, near,
			slices.DeleteFunc(slices.Clone(near), func(o *one) bool { return value(o) > origin }),
			slices.DeleteFunc(slices.Clone(near), func(o *one) bool { return value(o) < origin }))
	}
	return out
}

// crowd is a growing group.
type crowd struct {
	*world
	set      []*one
	lineup   *ruleset.Lineup
	level    int
	players  int
	refused  map[string]*Refusal
	broken   []string // in the best placement found
	teams    string
	unplaced int // players without a team in it
}

func (w *world) gather(t *one, order []*one) *crowd {
	c := &crowd{world: w, set: []*one{t}, lineup: w.together(t), players: len(t.Players), refused: map[string]*Refusal{}}
	c.level = w.rs.LevelAt(w.age(c.set))
	for _, o := range order {
		c.try(o)
	}
	return c
}

// try adds a ticket to the group unless sizes or a rule refuse it.
func (c *crowd) try(o *one) {
	set := append(c.set, o)
	at := c.rs.LevelAt(c.age(set))
	level := c.rs.Levels()[at]
	if o.Backfill && slices.ContainsFunc(c.set, func(o *one) bool { return o.Backfill }) {
		c.refuse(ReasonBackfill, "")
		return
	}
	if c.players+len(o.Players) > level.Capacity()-c.opts.AdditionalPlayerCount || !o.Backfill && !c.fitsAlone(level, len(o.Players)) {
		c.refuse(ReasonSizes, "")
		return
	}
	parties, members := len(c.lineup.Parties), len(c.lineup.Teams[0])
	c.join(c.lineup, o)
	if broken := c.world.broken(level, c.lineup); len(broken) > 0 {
		c.lineup.Parties, c.lineup.Teams[0] = c.lineup.Parties[:parties], c.lineup.Teams[0][:members]
		c.refuse("", level.Rules[broken[0]].Name)
		return
	}
	c.set, c.level, c.players = set, at, c.players+len(o.Players)
}

func (c *crowd) refuse(reason, rule string) {
	r := c.refused[reason+rule]
	if r == nil {
		r = &Refusal{Rule: rule, Reason: reason}
		c.refused[reason+rule] = r
	}
	r.Tickets++
}

// match reports whether the group is a valid match as placed.
func (c *crowd) match() bool { return len(c.broken) == 0 && c.teams == "" }

// better reports whether c is nearer to a match than o: it is a match, has more players,
// or breaks fewer rules.
func (c *crowd) better(o *crowd) bool {
	if c.match() != o.match() {
		return c.match()
	}
	if c.players != o.players {
		return c.players > o.players
	}
	return len(c.broken) < len(o.broken)
}

func (c *crowd) told() *Group {
	level := c.rs.Levels()[c.level]
	g := &Group{
		Players: c.players, Level: c.level, Match: c.match(), Broken: c.broken, Teams: c.teams,
		Smallest: level.Least(), Full: level.Capacity() - c.opts.AdditionalPlayerCount,
	}
	for _, o := range c.set {
		g.Tickets = append(g.Tickets, o.ID)
	}
	g.MissingSmallest, g.MissingFull = max(0, g.Smallest-c.players), max(0, g.Full-c.players)
	for _, r := range c.refused {
		if g.MissingFull > 0 || r.Reason != ReasonSizes { // a full group refuses every ticket
			g.Rejected = append(g.Rejected, *r)
		}
	}
	slices.SortFunc(g.Rejected, func(a, b Refusal) int {
		return cmp.Or(b.Tickets-a.Tickets, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Reason, b.Reason))
	})
	return g
}
