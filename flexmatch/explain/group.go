package explain

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// nearest returns the group around a ticket that is nearest to a match, of those that form
// when candidates join in several orders.
func (w *world) nearest(t *ticket, orders [][]*ticket) *Group {
	var best *group
	for _, order := range orders {
		if best != nil && w.stopped() {
			break
		}
		c := w.gather(t, order)
		c.arrange()
		if best == nil || c.better(best) {
			best = c
		}
	}
	return best.result()
}

// orders returns the orders in which candidates may join: by age, and for up to two
// windows by distance from the ticket.
func (w *world) orders(t *ticket, compatible []*ticket) [][]*ticket {
	out := [][]*ticket{slices.Clone(compatible[:min(len(compatible), w.limits.Candidates)])}
	windows := 0
	for i, r := range w.rs.Level(0).Rules {
		window, ok := w.rs.Traits(i).Column.(ruleset.Window)
		if !ok || !r.Enforced || windows == 2 {
			continue
		}
		windows++
		out = append(out, w.byDistance(t, compatible, window.Attribute, window.Party)...)
	}
	return out
}

// moreOrders returns further orders: by distance in up to two number attributes that rules
// without a window read.
func (w *world) moreOrders(t *ticket, compatible []*ticket) (out [][]*ticket) {
	attributes := 0
	for a := range w.rs.Attributes {
		read := slices.ContainsFunc(w.enforced, func(i int) bool {
			traits := w.rs.Traits(i)
			_, window := traits.Column.(ruleset.Window)
			return !window && a < len(traits.Reads.Attributes) && traits.Reads.Attributes[a]
		})
		if read && w.rs.Attributes[a].Type == ruleset.Number && attributes < 2 {
			attributes++
			out = append(out, w.byDistance(t, compatible, a, "avg")...)
		}
	}
	return out
}

// byDistance returns the candidates that are nearest to the ticket in a number attribute:
// from both sides, and from each side only.
func (w *world) byDistance(t *ticket, compatible []*ticket, attribute int, party string) [][]*ticket {
	value := func(o *ticket) float64 { return o.candidate.Party.PartyNumber(attribute, party) }
	origin := value(t)
	near := slices.Clone(compatible)
	slices.SortStableFunc(near, func(a, b *ticket) int {
		return cmp.Compare(math.Abs(value(a)-origin), math.Abs(value(b)-origin))
	})
	near = near[:min(len(near), w.limits.Candidates)]
	return [][]*ticket{
		near,
		slices.DeleteFunc(slices.Clone(near), func(o *ticket) bool { return value(o) > origin }),
		slices.DeleteFunc(slices.Clone(near), func(o *ticket) bool { return value(o) < origin }),
	}
}

type group struct {
	*world
	set      []*search.Candidate
	lineup   *ruleset.Lineup
	level    int
	players  int
	counts   []int // how many players count for each rule about counts of the level
	refused  map[string]*Refusal
	arranged // the best way found
}

// arranged is what is wrong with one way to distribute a group over the teams.
type arranged struct {
	broken   []string // the rules that it breaks
	breaches []Breach // of broken, those with a number
	teams    string   // what is wrong with the team sizes
	unplaced int      // players without a team
}

// compare returns a number below 0 if a is nearer to a match than b, and above 0 if b is.
func (a *arranged) compare(b *arranged) int {
	return cmp.Or(a.unplaced-b.unplaced, len(a.broken)-len(b.broken), len(a.teams)-len(b.teams), cmp.Compare(a.beyond(), b.beyond()))
}

// match reports whether it is a valid match.
func (a *arranged) match() bool { return len(a.broken) == 0 && a.teams == "" }

// beyond returns how far the rules that have a number are broken in all.
func (a *arranged) beyond() (sum float64) {
	for _, b := range a.breaches {
		sum += b.beyond()
	}
	return sum
}

func (w *world) gather(t *ticket, order []*ticket) *group {
	c := &group{world: w, set: []*search.Candidate{t.candidate}, lineup: search.Together(w.rs, t.candidate), players: len(t.Players), refused: map[string]*Refusal{}}
	c.level = t.candidate.LevelAt(w.rs, w.now)
	c.counts = c.countedWith(c.level, nil)
	for _, o := range order {
		c.try(o.candidate)
	}
	return c
}

// try adds a ticket to the group unless sizes or a rule refuse it.
func (c *group) try(o *search.Candidate) {
	set, players := append(c.set, o), o.Size+o.Held
	at := c.rs.LevelAt(search.Age(c.rs, set, c.now))
	level := c.rs.Levels()[at]
	if o.Ticket.Backfill && slices.ContainsFunc(c.set, func(o *search.Candidate) bool { return o.Ticket.Backfill }) {
		c.refuse(ReasonBackfill, "")
		return
	}
	if c.players+players > level.Capacity()-c.opts.AdditionalPlayerCount || !o.Ticket.Backfill && !c.fitsAlone(level, players) {
		c.refuse(ReasonSizes, "")
		return
	}
	counts := c.countedWith(at, o)
	if rule := c.exceeds(at, counts, c.players+players); rule != "" {
		c.refuse("", rule)
		return
	}
	parties, members := len(c.lineup.Parties), len(c.lineup.Teams[0])
	c.lineup.Add(&o.Party, 0)
	if rules := broken(c.pairing, level, c.lineup); len(rules) > 0 {
		c.lineup.Parties, c.lineup.Teams[0] = c.lineup.Parties[:parties], c.lineup.Teams[0][:members]
		c.refuse("", level.Rules[rules[0]].Name)
		return
	}
	c.set, c.level, c.players, c.counts = set, at, c.players+players, counts
}

// countedWith returns how many players count for each rule about counts of a level if a
// ticket, which may be nil, joins the group.
func (c *group) countedWith(at int, o *search.Candidate) []int {
	out := make([]int, len(c.rules.Counts[at]))
	for i := range out {
		rule := &c.rules.Counts[at][i]
		if at == c.level && c.counts != nil {
			out[i] = c.counts[i]
		} else {
			for _, o := range c.set {
				out[i] += rule.Of(&o.Party)
			}
		}
		if o != nil {
			out[i] += rule.Of(&o.Party)
		}
	}
	return out
}

// exceeds returns a rule about counts that no match of a number of players can keep, given
// how many of them count, or "".
func (c *group) exceeds(at int, counts []int, players int) string {
	for i, n := range counts {
		rule := &c.rules.Counts[at][i]
		if most, limited := rule.Allowed(len(c.rs.Instances)); limited && n > most {
			return rule.Name
		}
	}
	d := c.lacks(at, counts)
	n, s := d.Least()
	if level := c.rs.Levels()[at]; n > level.Capacity()-c.opts.AdditionalPlayerCount-players {
		return s.Rule
	}
	return ""
}

// lacks returns how many players a match needs for its rules about counts, beside those that
// count.
func (c *group) lacks(at int, counts []int) (d search.Demand) {
	for i, n := range counts {
		rule := &c.rules.Counts[at][i]
		d.Add(rule, n, rule.Needed(c.rs.Levels()[at]))
	}
	return d
}

func (c *group) refuse(reason, rule string) {
	r := c.refused[reason+rule]
	if r == nil {
		r = &Refusal{Rule: rule, Reason: reason}
		c.refused[reason+rule] = r
	}
	r.Tickets++
}

// better reports whether c is nearer to a match than o: it is a match, has more players,
// breaks fewer rules, or breaks them by less.
func (c *group) better(o *group) bool {
	if c.match() != o.match() {
		return c.match()
	}
	if c.players != o.players {
		return c.players > o.players
	}
	if len(c.broken) != len(o.broken) {
		return len(c.broken) < len(o.broken)
	}
	return c.beyond() < o.beyond()
}

func (c *group) result() *Group {
	level := c.rs.Levels()[c.level]
	g := &Group{
		Players: c.players, Level: c.level, Match: c.match(), Broken: c.broken, Breaches: c.breaches, Teams: c.teams,
		Smallest: level.Least(), Full: level.Capacity() - c.opts.AdditionalPlayerCount,
	}
	for _, o := range c.set {
		g.Tickets = append(g.Tickets, o.Ticket.ID)
	}
	g.MissingSmallest, g.MissingFull = max(0, g.Smallest-c.players), max(0, g.Full-c.players)
	if !g.Match {
		g.Lacks = c.lacks(c.level, c.counts).Shortages
	}
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

// arrange distributes the group over the teams in several ways, and records what is wrong
// with the best one.
func (c *group) arrange() {
	if len(c.set) == 1 && c.set[0].Ticket.Backfill {
		c.teams = "no new player for the game session"
		return
	}
	r := rand.New(rand.NewPCG(1, 1)) // deterministic
	order := make([]int, len(c.set))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return c.set[b].Size - c.set[a].Size })
	for try := range c.limits.Placements {
		if a := c.place(order, r, try); try == 0 || a.compare(&c.arranged) < 0 {
			c.arranged = a
		}
		if c.match() {
			return
		}
		r.Shuffle(len(order), func(i, j int) {
			if c.set[order[i]].Size == c.set[order[j]].Size {
				order[i], order[j] = order[j], order[i]
			}
		})
	}
}

// place distributes the group once: to teams below their minimum first, then to those
// with the most open slots. After the first try it sometimes takes any team with room.
func (c *group) place(order []int, r *rand.Rand, try int) (a arranged) {
	level := c.rs.Levels()[c.level]
	l := &ruleset.Lineup{Teams: make([][]ruleset.Member, len(c.rs.Instances))}
	for _, o := range c.set {
		l.Parties = append(l.Parties, &o.Party)
		for i, team := range o.Teams {
			l.Teams[team] = append(l.Teams[team], ruleset.Member{Party: &o.Party, Index: i})
		}
	}
	counts := c.countTeams(l)
	for _, i := range order {
		o := c.set[i]
		if o.Ticket.Backfill {
			continue
		}
		team := roomiest(level, l, o.Size, r, try > 0, func(team int) bool { return counts.allow(&o.Party, team) })
		if team < 0 {
			a.unplaced += o.Size
			continue
		}
		for m := range o.Size {
			l.Teams[team] = append(l.Teams[team], ruleset.Member{Party: &o.Party, Index: m})
		}
		counts.add(&o.Party, team)
	}
	a.teams = c.sizes(level, l)
	if a.unplaced > 0 {
		a.teams = fmt.Sprintf("no team has room for %d of the players together with their parties", a.unplaced)
	}
	for _, i := range broken(c.enforced, level, l) {
		a.broken = append(a.broken, level.Rules[i].Name)
		if b, ok := breach(level.Rules[i], l); ok {
			a.breaches = append(a.breaches, b)
		}
	}
	return a
}

// roomiest returns a team for a party, if possible one that is allowed, or -1 if none has
// room.
func roomiest(level *ruleset.Level, l *ruleset.Lineup, players int, r *rand.Rand, mix bool, allowed func(team int) bool) int {
	var fit []int
	for i, size := range level.Sizes {
		if len(l.Teams[i])+players <= size.Max {
			fit = append(fit, i)
		}
	}
	if keeps := slices.DeleteFunc(slices.Clone(fit), func(i int) bool { return !allowed(i) }); len(keeps) > 0 {
		fit = keeps
	}
	if len(fit) == 0 {
		return -1
	}
	if mix && r.IntN(4) == 0 {
		return fit[r.IntN(len(fit))]
	}
	return slices.MaxFunc(fit, func(a, b int) int {
		short := func(i int) int {
			if len(l.Teams[i]) < level.Sizes[i].Min {
				return 1
			}
			return 0
		}
		open := func(i int) int { return level.Sizes[i].Max - len(l.Teams[i]) }
		return cmp.Or(short(a)-short(b), open(a)-open(b), b-a)
	})
}

// sizes returns text about a team below its minimum, or "".
func (c *group) sizes(level *ruleset.Level, l *ruleset.Lineup) string {
	for i, size := range level.Sizes {
		if n := len(l.Teams[i]); n < size.Min {
			return fmt.Sprintf("team %s has %d of at least %d players", c.rs.Instances[i].Name, n, size.Min)
		}
	}
	return ""
}
