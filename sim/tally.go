package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
)

type tally struct {
	tickets, players Outcomes
	wait, off        sketch
	populations      parts
	parties          parts
	locations        parts
	steps            parts

	sizes, levels  map[int]int
	formed, filled int
	full           int
	refused        int
	backfills      int
	passes         int
	waiting        int // tickets neither matched nor ended

	rules      []ruleTally
	attributes []spreadTally
	latency    sketch

	batches  []*batch
	why      whys
	stretch  time.Duration
	moments  []Moment
	moment   Moment
	tail     bool   // the last moment is shorter than the others
	waits    sketch // of the current moment
	waitTime time.Duration
	playTime time.Duration
	until    []time.Duration // when players who play end, and some who have ended
}

type ruleTally struct {
	relaxed     int
	strict      int
	waitRelaxed sketch
	waitStrict  sketch
	value       sketch
}

type spreadTally struct {
	attribute     int
	spread, teams sketch
}

// moments is the number of stretches in a timeline.
const moments = 120

func newTally(r *run) tally {
	t := tally{populations: parts{}, parties: parts{}, locations: parts{}, steps: parts{}, sizes: map[int]int{}, levels: map[int]int{}}
	t.batches = newBatches(&r.Options)
	t.rules = make([]ruleTally, len(r.RuleSet.Level(0).Rules))
	for i, a := range r.RuleSet.Attributes {
		if a.Type == ruleset.Number {
			t.attributes = append(t.attributes, spreadTally{attribute: i})
		}
	}
	t.stretch = max(r.For/moments, time.Second)
	return t
}

// part holds the measurements of a part of the tickets.
type part struct {
	tickets       Outcomes
	players       int
	wait, latency sketch
}

type parts map[string]*part

func (p parts) of(name string) *part {
	if p[name] == nil {
		p[name] = &part{}
	}
	return p[name]
}

// of returns the count for tickets like t, which ended for a cause or is in play.
func (f *Outcomes) of(t *life.Ticket, why life.Cause) *int {
	switch {
	case t.Status == life.Completed:
		return &f.Matched
	case t.Status == life.TimedOut:
		return &f.TimedOut
	case why == life.Declined:
		return &f.Declined
	case t.Status == life.Cancelled:
		return &f.Cancelled
	case t.Status.Waits():
		return &f.Waiting
	}
	return &f.Pending
}

func (t *tally) arrived(a *arrival) {
	t.tickets.Arrived++
	t.players.Arrived += len(a.players)
	t.moment.Arrived++
	t.populations.of(a.population).tickets.Arrived++
	t.parties.of(strconv.Itoa(len(a.players))).tickets.Arrived++
	t.batch(a.at).tickets.Arrived++
	t.waiting++
}

// ended counts a player ticket that has ended or, at the end of the simulation, is still
// in play.
func (t *tally) ended(r *run, in *ticket, why life.Cause) {
	for _, tickets := range []*Outcomes{&t.tickets, &t.populations.of(in.come.population).tickets, &t.parties.of(strconv.Itoa(len(in.Players))).tickets, &t.batch(in.come.at).tickets} {
		*tickets.of(&in.row, why)++
	}
	*t.players.of(&in.row, why) += len(in.Players)
	waited := r.now - in.come.at
	t.waitTime += waited * time.Duration(len(in.Players))
	switch {
	case in.row.Status == life.Completed:
		t.moment.Matched++
	case in.row.Status.Over():
		t.off.add(waited.Seconds())
		t.moment.Ended++
	default:
		return
	}
	t.waiting--
}

// plays counts the time in which a player plays.
func (t *tally) plays(from, to time.Duration) {
	t.playTime += max(to-from, 0)
	if len(t.until) == cap(t.until) {
		t.until = slices.DeleteFunc(t.until, func(end time.Duration) bool { return end <= from })
	}
	t.until = append(t.until, to)
}

// stop ends the simulation before its time: who would play on does not.
func (t *tally) stop(at time.Duration) {
	for _, end := range t.until {
		t.playTime -= max(end-at, 0)
	}
}

// tick ends a stretch of the timeline if it is due.
func (t *tally) tick(r *run) {
	if due := t.stretch * time.Duration(len(t.moments)+1); r.now >= due {
		t.endMoment(r)
	}
}

func (t *tally) endMoment(r *run) {
	at := t.waits.quantiles()
	t.moment.At, t.moment.P50, t.moment.P90, t.moment.Waiting = round(r.now.Seconds()), at.P50, at.P90, t.waiting
	t.moments, t.moment, t.waits = append(t.moments, t.moment), Moment{}, sketch{}
}

// end counts what is still in play.
func (t *tally) end(r *run) {
	if last := len(t.moments) - 1; last < 0 || t.moments[last].At < round(r.now.Seconds()) {
		t.tail = last >= 0 && r.now < t.stretch*time.Duration(last+2)
		t.endMoment(r)
	}
	left := slices.SortedFunc(maps.Values(r.tickets), func(a, b *ticket) int { return cmp.Compare(a.Arrival, b.Arrival) })
	for _, in := range left {
		if in.come != nil {
			t.ended(r, in, 0)
		}
	}
}

// list returns the parts sorted by name, numbers numerically.
func (p parts) list() []Part {
	names := slices.SortedFunc(maps.Keys(p), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if !slices.ContainsFunc(names, func(n string) bool { _, err := strconv.Atoi(n); return err == nil }) {
		slices.Sort(names)
	}
	out := make([]Part, 0, len(names))
	for _, name := range names {
		of := p[name]
		out = append(out, Part{Name: name, Tickets: of.tickets, Players: of.players, Wait: of.wait.quantiles(), Latency: of.latency.quantiles()})
	}
	return out
}

func counts(of map[int]int) []Count {
	out := make([]Count, 0, len(of))
	for _, v := range slices.Sorted(maps.Keys(of)) {
		out = append(out, Count{v, of[v]})
	}
	return out
}

func (r *run) report() *Report {
	t := &r.tally
	out := &Report{
		Name: r.Spec.Name, RuleSet: r.Label, Seed: r.Seed, For: round(r.For.Seconds()),
		Tickets: t.tickets, Players: t.players, Wait: t.wait.quantiles(), Waited: t.off.quantiles(), Curve: t.curve(),
		Populations: t.populations.list(), Parties: t.parties.list(), Locations: t.locations.list(), Steps: t.steps.list(),
		Matches: Matched{
			Formed: t.formed, Refused: t.refused, New: t.formed - t.filled, Filled: t.filled, Full: t.full,
			Backfills: t.backfills, Sizes: counts(t.sizes), Steps: counts(t.levels),
		},
		Rules: []RuleUse{}, Attributes: []Spread{}, Latency: t.latency.quantiles(),
		Unmatched: t.why.list(), Examined: len(t.why.kept), Timeline: t.moments,
		Effort:  Effort{Passes: t.passes, Ended: r.pool.Ended, Searches: r.pool.Searches, Cut: r.pool.Cut, Rejected: r.pool.Rejected},
		Played:  PlayedTimes{Waiting: round(t.waitTime.Minutes()), Playing: round(t.playTime.Minutes())},
		batches: t.batches, tail: t.tail,
	}
	for i, rule := range r.RuleSet.Level(0).Rules {
		if rule.Enforced {
			use := t.rules[i].told(rule)
			use.index = i
			out.Rules = append(out.Rules, use)
		}
	}
	for i := range t.attributes {
		a := &t.attributes[i]
		out.Attributes = append(out.Attributes, Spread{r.RuleSet.Attributes[a.attribute].Name, a.spread.quantiles(), a.teams.quantiles()})
	}
	return out
}

// curve returns the share of all ended tickets that were matched within a time.
func (t *tally) curve() []Point {
	out := []Point{}
	all := t.wait.n + t.off.n
	if t.wait.n == 0 {
		return out
	}
	var shares []float64
	for i := range 101 {
		shares = append(shares, float64(i)/100)
	}
	for i, x := range t.wait.at(shares...) {
		out = append(out, Point{x, round(shares[i] * float64(t.wait.n) / float64(all))})
	}
	return out
}

func (t *ruleTally) told(r *ruleset.Rule) RuleUse {
	u := RuleUse{Name: r.Name, Type: r.Type, Relaxed: t.relaxed, Strict: t.strict, WaitRelaxed: t.waitRelaxed.quantiles(), WaitStrict: t.waitStrict.quantiles()}
	if t.value.n > 0 {
		q := t.value.quantiles()
		u.Value = &q
	}
	if limit := r.Limit(); limit.Set {
		u.Limit = &limit.Value
	}
	return u
}
