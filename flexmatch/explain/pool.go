package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Overview says why the tickets of a pool wait.
type Overview struct {
	At      time.Time `json:"at"`      // when this was true
	Waiting int       `json:"waiting"` // tickets
	Players int       `json:"players"` // of the tickets, without those of backfilled game sessions
	Ages    []Age     `json:"ages"`    // of all tickets, youngest first
	Levels  []int     `json:"levels"`  // tickets by the expansion steps that their age has reached

	Counted int          `json:"counted"`        // tickets whose data was checked: all, or a sample
	Never   []CauseCount `json:"never,omitzero"` // of Counted, those that can never be matched, by cause

	Undeclared []Undeclared `json:"undeclared,omitzero"` // attributes that tickets of Counted bring

	Bounds []Bound `json:"bounds,omitzero"` // of its searches, which the caller adds

	Examined int        `json:"looked_at"` // tickets compared with others
	Pairs    int        `json:"pairs"`
	Free     int        `json:"free"` // pairs that nothing keeps apart
	Rules    []RuleLoad `json:"rules,omitzero"`

	TooFew  int        `json:"short"`            // of Examined, tickets around which players are missing for the smallest match
	Missing int        `json:"lacks"`            // median number of missing players over TooFew
	Lacks   []LackLoad `json:"lacking,omitzero"` // what is missing around the tickets of TooFew for rules about counts
	Broken  []RuleLoad `json:"broken,omitzero"`  // rules that refuse the best groups with enough players

	Coming []Coming `json:"coming,omitzero"` // matches if no ticket were added or removed
	Left   int      `json:"left"`            // tickets that would still wait then
	Ahead  Ahead    `json:"ahead"`
}

// Age counts the tickets younger than Under and not counted before.
type Age struct {
	Under   int64 `json:"under_ms,omitzero"` // 0 means unlimited
	Tickets int   `json:"tickets"`
}

// CauseCount counts tickets by cause.
type CauseCount struct {
	Code    string `json:"code"`
	Name    string `json:"name,omitzero"`
	Text    string `json:"text"` // for people
	Tickets int    `json:"tickets"`
}

// text returns the cause, for people.
func (c *CauseCount) text() string {
	switch c.Code {
	case MissingAttribute:
		return "a player has no value for the attribute " + c.Name
	case NoLatency:
		return "a player brings no latency, and the rule set has a latency rule"
	case PartyTooLarge:
		return "the party is larger than every team ever may be"
	case UnknownTeam:
		return "a player is in team " + c.Name + ", which the rule set does not have"
	case SessionFull:
		return "the game session has no free slot in any team"
	case BreaksRule:
		return "the ticket breaks the rule " + c.Name + " by itself"
	}
	return c.Code + " " + c.Name
}

// RuleLoad counts the pairs of a pool that a rule, or a reason other than rules, keeps
// apart.
type RuleLoad struct {
	Rule    string `json:"rule,omitzero"`
	Reason  string `json:"reason,omitzero"`
	Pairs   int    `json:"pairs,omitzero"` // pairs that it keeps apart
	Only    int    `json:"only,omitzero"`  // of Pairs, kept apart by nothing else
	Tickets int    `json:"tickets"`        // tickets for which it blocks most
}

// LackLoad counts the tickets around which players with a string are missing.
type LackLoad struct {
	Rule    string `json:"rule"`
	String  string `json:"string"`
	Tickets int    `json:"tickets"`
}

// Coming is the matches of a future pass.
type Coming struct {
	In      int64 `json:"in_ms"`
	Matches int   `json:"matches"`
	Tickets int   `json:"tickets"`
	Players int   `json:"players"`
}

// ages are the bounds of the histogram of waiting times.
var ages = [...]time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// against is how many others each ticket of an overview is compared with.
const against = 256

// Pool explains a whole pool. Ages and levels count every ticket; causes are counted over
// Limits.Counted tickets, and rules over Limits.Tickets, chosen evenly by age.
func Pool(rs *ruleset.RuleSet, opts search.Options, waiting []*search.Ticket, now time.Time, limits Limits) *Overview {
	w := newWorld(rs, opts, waiting, now, limits)
	v := &Overview{At: now, Waiting: len(waiting)}
	v.count(w)
	v.check(w)
	v.examine(w)
	if w.limits.Ahead > 0 {
		v.future(w)
	}
	return v
}

func (v *Overview) count(w *world) {
	v.Ages, v.Levels = make([]Age, len(ages)+1), make([]int, len(w.rs.Levels()))
	for i, under := range ages {
		v.Ages[i].Under = under.Milliseconds()
	}
	for _, o := range w.waiting {
		waited := w.now.Sub(o.Created)
		at := slices.IndexFunc(ages[:], func(under time.Duration) bool { return waited < under })
		if at < 0 {
			at = len(ages)
		}
		v.Ages[at].Tickets++
		v.Levels[w.rs.LevelAt(waited)]++
		if !o.Backfill {
			v.Players += len(o.Players)
		}
	}
}

// check counts what is wrong with the data of tickets.
func (v *Overview) check(w *world) {
	counted := w.sample(nil, w.limits.Counted)
	v.Counted = len(counted)
	v.Undeclared = w.undeclared(counted...)
	causes := map[CauseCount]int{}
	for _, o := range counted {
		if len(o.never) > 0 {
			causes[CauseCount{Code: o.never[0].Code, Name: o.never[0].Name}]++
		}
	}
	for c, n := range causes {
		c.Tickets, c.Text = n, c.text()
		v.Never = append(v.Never, c)
	}
	slices.SortFunc(v.Never, func(a, b CauseCount) int {
		return cmp.Or(b.Tickets-a.Tickets, cmp.Compare(a.Code, b.Code), cmp.Compare(a.Name, b.Name))
	})
}

func (v *Overview) examine(w *world) {
	kept, refused, lacks := loads{}, loads{}, map[LackLoad]int{}
	var missing []int
	for _, t := range w.sample(nil, w.limits.Tickets) {
		if w.stopped() {
			return
		}
		if len(t.never) > 0 {
			continue
		}
		others := w.sample(t, against)
		compatible, apart := w.compare(t, others)
		v.Examined++
		v.Pairs += len(others)
		v.Free += len(compatible)
		for i, b := range apart.list() {
			kept.add(b, i == 0)
		}
		g := w.nearest(t, w.orders(t, compatible))
		switch {
		case g.MissingSmallest > 0:
			missing = append(missing, g.MissingSmallest)
			for _, s := range g.Lacks {
				lacks[LackLoad{Rule: s.Rule, String: s.String}]++
			}
		case len(g.Broken) > 0:
			refused.add(Blocking{Rule: g.Broken[0]}, true)
		case g.Teams != "":
			refused.add(Blocking{Reason: ReasonSizes}, true)
		}
	}
	v.TooFew = len(missing)
	if v.TooFew > 0 {
		slices.Sort(missing)
		v.Missing = missing[len(missing)/2]
	}
	v.Rules, v.Broken = kept.list(), refused.list()
	for l, n := range lacks {
		l.Tickets = n
		v.Lacks = append(v.Lacks, l)
	}
	slices.SortFunc(v.Lacks, func(a, b LackLoad) int {
		return cmp.Or(b.Tickets-a.Tickets, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.String, b.String))
	})
}

type loads map[[2]string]*RuleLoad

func (l loads) add(b Blocking, most bool) {
	key := [2]string{b.Rule, b.Reason}
	if l[key] == nil {
		l[key] = &RuleLoad{Rule: b.Rule, Reason: b.Reason}
	}
	l[key].Pairs += b.Tickets
	l[key].Only += b.Only
	if most {
		l[key].Tickets++
	}
}

func (l loads) list() []RuleLoad {
	var out []RuleLoad
	for _, load := range l {
		out = append(out, *load)
	}
	slices.SortFunc(out, func(a, b RuleLoad) int {
		return cmp.Or(b.Pairs-a.Pairs, b.Tickets-a.Tickets, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// future plays the oldest Limits.Ahead tickets of the pool ahead.
func (v *Overview) future(w *world) {
	tickets := w.waiting[:min(len(w.waiting), w.limits.Ahead)]
	f := w.future(tickets)
	v.Left = len(tickets)
	f.run(tickets, func(at time.Time, m *search.Match) bool {
		in := at.Sub(w.now).Milliseconds()
		if n := len(v.Coming); n == 0 || v.Coming[n-1].In != in {
			v.Coming = append(v.Coming, Coming{In: in})
		}
		c := &v.Coming[len(v.Coming)-1]
		c.Matches++
		c.Tickets += len(m.Tickets)
		c.Players += m.NewPlayers()
		v.Left -= len(m.Tickets)
		return false
	})
	v.Ahead = f.ahead
}
