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
	Counted    int // tickets of a pool whose data is checked; default 10,000
	Others     int // tickets that one is compared with; default 2000
	Candidates int // tickets tried for a group; default 400
	Placements int // ways to distribute a group over the teams; default 64
	Ahead      int // tickets played ahead; default 500, -1 for none
	Passes     int // moments played ahead; default 128
	Tickets    int // tickets of a pool examined individually; default 48

	// Clock and Time, if both are set, end playing ahead, at the earliest after the first moment,
	// when it has taken Time. Results then depend on the machine.
	Clock func() time.Time
	Time  time.Duration

	// Read, if set, adds the attributes and latencies of a waiting ticket's players. It is called
	// once for each ticket that is examined; the others need only the number of their players.
	Read func(*search.Ticket)
	// Stop, if set, is called every few milliseconds. Once it returns true, the result is
	// incomplete and must not be used.
	Stop func() bool
}

func (l Limits) defaults() Limits {
	l.Counted = cmp.Or(l.Counted, 10_000)
	l.Others = cmp.Or(l.Others, 2000)
	l.Candidates = cmp.Or(l.Candidates, 400)
	l.Placements = cmp.Or(l.Placements, 64)
	l.Ahead = cmp.Or(l.Ahead, 500)
	l.Passes = cmp.Or(l.Passes, 128)
	l.Tickets = cmp.Or(l.Tickets, 48)
	return l
}

// world is the input of an explanation: rules, waiting tickets, a time.
type world struct {
	rs      *ruleset.RuleSet
	opts    search.Options
	now     time.Time
	limits  Limits
	waiting []*ticket // oldest first

	enforced []int // rules
	pairing  []int // of these, the ones that stay broken as a match grows

	rules *search.Rules
}

// ticket is a waiting ticket. resolve sets all members but Ticket when needed, because few
// tickets of a large pool are examined.
type ticket struct {
	*search.Ticket
	place     int               // in world.waiting
	candidate *search.Candidate // nil if it can never be matched because of its data
	never     []Cause           // why it can never be matched
	alone     []Cause           // rules that it breaks by itself at its age
}

func newWorld(rs *ruleset.RuleSet, opts search.Options, tickets []*search.Ticket, now time.Time, limits Limits) *world {
	w := &world{rs: rs, opts: opts, now: now, limits: limits.defaults(), rules: search.RulesOf(rs, opts)}
	for i, r := range rs.Level(0).Rules {
		if r.Enforced {
			w.enforced = append(w.enforced, i)
			if rs.Traits(i).Shrinks {
				w.pairing = append(w.pairing, i)
			}
		}
	}
	w.waiting = make([]*ticket, len(tickets))
	all := make([]ticket, len(tickets))
	for i, t := range tickets {
		all[i].Ticket, w.waiting[i] = t, &all[i]
	}
	slices.SortFunc(w.waiting, older)
	for i, o := range w.waiting {
		o.place = i
	}
	return w
}

// stopped reports whether the caller wants no result any more.
func (w *world) stopped() bool { return w.limits.Stop != nil && w.limits.Stop() }

func older(a, b *ticket) int { return search.Older(a.Ticket, b.Ticket) }

// resolve prepares a ticket, appends to o.never why it can never be matched, if so, and
// returns o.
func (w *world) resolve(o *ticket) *ticket {
	if o.candidate != nil || o.never != nil {
		return o
	}
	if w.limits.Read != nil {
		w.limits.Read(o.Ticket)
	}
	var ok bool
	if o.candidate, ok = search.Prepare(w.rs, o.Ticket); !ok {
		w.missing(o)
	}
	if o.Backfill {
		w.seat(o)
	} else if !slices.ContainsFunc(w.rs.Levels(), func(l *ruleset.Level) bool { return w.fitsAlone(l, len(o.Players)) }) {
		o.never = append(o.never, Cause{Code: PartyTooLarge, Text: "the party is larger than every team ever may be"})
	}
	if len(o.never) == 0 {
		never, alone := w.alone(o)
		o.never, o.alone = never, append(o.alone, alone...)
	}
	return o
}

// missing appends to o.never the players that lack what the rule set requires.
func (w *world) missing(o *ticket) {
	for _, p := range o.Players {
		_, missing := w.rs.Resolve(p.Attributes)
		for _, name := range missing {
			o.never = append(o.never, Cause{Code: MissingAttribute, Player: p.ID, Name: name,
				Text: "player " + p.ID + " has no value for the attribute " + name + ", which has no default"})
		}
		if w.rs.HasLatency && len(p.Latency) == 0 {
			o.never = append(o.never, Cause{Code: NoLatency, Player: p.ID,
				Text: "player " + p.ID + " brings no latency, and the rule set has a latency rule"})
		}
	}
}

// seat appends to o.never the players of a backfill ticket whose team does not exist, and
// that the game session is full, if so.
func (w *world) seat(o *ticket) {
	filled := make([]int, len(w.rs.Instances))
	for _, p := range o.Players {
		seat := w.rs.Instance(p.Team)
		if seat < 0 {
			o.never = append(o.never, Cause{Code: UnknownTeam, Player: p.ID, Name: p.Team, Text: "player " + p.ID + " is in team " + p.Team + ", which the rule set does not have"})
			continue
		}
		filled[seat]++
	}
	open := slices.ContainsFunc(w.rs.Levels(), func(l *ruleset.Level) bool {
		for i, n := range filled {
			if n > l.Sizes[i].Max {
				return false
			}
		}
		return len(o.Players) < l.Capacity()-w.opts.AdditionalPlayerCount
	})
	if open && o.Most > 0 && o.Most <= len(o.Players) {
		o.alone = append(o.alone, Cause{Code: SessionFull, Text: "the game session has no free slot now, or takes no players"})
	}
	if len(o.Players) == 0 {
		o.never = append(o.never, Cause{Code: SessionFull, Text: "nobody whom it lists is in the game session any more"})
	}
	if !open {
		o.never = append(o.never, Cause{Code: SessionFull, Text: "the game session has no free slot in any team"})
	}
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
	n = min(n, others)
	out := make([]*ticket, n)
	for i := range out {
		at := (i*others + n - 1) / n
		if but != nil && at >= but.place {
			at++
		}
		out[i] = w.resolve(w.waiting[at])
	}
	return out
}

// broken returns those of some rules that a lineup breaks at a level. If rules about
// locations pass individually but share no location, it returns the last of them.
func broken(rules []int, level *ruleset.Level, l *ruleset.Lineup) []int {
	var out, located []int
	for _, i := range rules {
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
