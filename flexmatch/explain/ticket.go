package explain

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Ticket explains why a ticket waits, given all waiting tickets, which may or may not
// include it. The result is deterministic.
func Ticket(rs *ruleset.RuleSet, opts search.Options, t *search.Ticket, waiting []*search.Ticket, now time.Time, limits Limits) *Explanation {
	if !slices.ContainsFunc(waiting, func(o *search.Ticket) bool { return o.ID == t.ID }) {
		waiting = append(waiting[:len(waiting):len(waiting)], t)
	}
	w := newWorld(rs, opts, waiting, now, limits)
	me := w.waiting[slices.IndexFunc(w.waiting, func(o *ticket) bool { return o.ID == t.ID })]
	return w.explain(w.resolve(me))
}

func (w *world) explain(t *ticket) *Explanation {
	waited := w.now.Sub(t.Created)
	e := &Explanation{
		At: w.now, TicketID: t.ID, Players: len(t.Players), Backfill: t.Backfill,
		Waited: waited.Milliseconds(), Level: w.rs.LevelAt(waited), Levels: len(w.rs.Levels()) - 1,
		NextStep: w.nextStep(t), Expansions: expansions(w.rs), Undeclared: w.undeclared(t), Never: t.never, Others: len(w.waiting) - 1,
	}
	if len(e.Never) > 0 {
		return e
	}
	e.Alone = t.alone
	others := w.sample(t, w.limits.Others)
	compatible, c := w.compare(t, others)
	e.Compared, e.Compatible, e.Blocking, e.Misses = len(others), len(compatible), c.list(), w.misses(t, c.near)
	e.Nearest = w.nearest(t, append(w.orders(t, compatible), w.moreOrders(t, compatible)...))
	if w.limits.Ahead > 0 {
		e.Would, e.Ahead = w.would(t, compatible)
	}
	return e
}

// Explanation says why one ticket waits.
type Explanation struct {
	At       time.Time `json:"at"` // when this was true
	TicketID string    `json:"ticket_id"`
	Players  int       `json:"players"`
	Backfill bool      `json:"backfill,omitzero"`

	Waited   int64 `json:"waited_ms"`
	Level    int   `json:"level"`              // expansion steps that its age has reached
	Levels   int   `json:"levels"`             // number of expansion steps
	NextStep *Step `json:"next_step,omitzero"` // the next one that its age will reach

	Expansions []Expansion `json:"expansions,omitzero"` // the limits that change with age

	Undeclared []Undeclared `json:"undeclared,omitzero"` // attributes that it brings

	Bounds []Bound `json:"bounds,omitzero"` // of the searches of its configuration, which the caller adds

	Never []Cause `json:"never,omitzero"` // why it can never be matched
	Alone []Cause `json:"alone,omitzero"` // rules that it breaks by itself at its age

	Others     int        `json:"others"`     // other waiting tickets
	Compared   int        `json:"compared"`   // of Others, compared with this one
	Compatible int        `json:"compatible"` // of Compared, could play with it, judging by two tickets
	Blocking   []Blocking `json:"blocking,omitzero"`
	Misses     []Miss     `json:"misses,omitzero"` // the tickets that nearly could, at most 8

	Nearest *Group  `json:"nearest,omitzero"`
	Would   *Future `json:"would,omitzero"` // nil if the waiting tickets form none as far as Ahead goes
	Ahead   Ahead   `json:"ahead"`
}

// Step is a future expansion step.
type Step struct {
	Level   int      `json:"level"`
	In      int64    `json:"in_ms"`
	Changes []string `json:"changes,omitzero"` // the rules and teams that it changes
}

// Cause codes.
const (
	MissingAttribute = "MISSING_ATTRIBUTE"
	NoLatency        = "NO_LATENCY"
	PartyTooLarge    = "PARTY_TOO_LARGE"
	UnknownTeam      = "UNKNOWN_TEAM"
	SessionFull      = "SESSION_FULL"
	BreaksRule       = "BREAKS_RULE"
)

// Cause is a reason in the ticket itself.
type Cause struct {
	Code   string `json:"code"`
	Player string `json:"player,omitzero"`
	Name   string `json:"name,omitzero"` // of the attribute, rule or team
	Text   string `json:"text"`          // for people
}

// Reasons other than rules why two tickets cannot play together.
const (
	ReasonSizes    = "team sizes"           // they do not fit into the teams
	ReasonBackfill = "one backfill a match" // both are backfill tickets
	ReasonPlaysIn  = "a player is in the game session already"
	ReasonSlots    = "free slots of the game session"
	ReasonNever    = "the other can never be matched"
)

// Blocking counts the tickets that a rule, or a reason other than rules, keeps apart from
// a ticket.
type Blocking struct {
	Rule    string   `json:"rule,omitzero"`
	Type    string   `json:"type,omitzero"`
	Reason  string   `json:"reason,omitzero"` // if it is not a rule
	Tickets int      `json:"tickets"`         // kept apart from this one
	Only    int      `json:"only"`            // of Tickets, kept apart by nothing else
	Nearest *float64 `json:"nearest,omitzero"`
	Limit   *float64 `json:"limit,omitzero"` // the limit that Nearest, the best value of those kept apart, breaks
}

// Group is the largest group found around the ticket.
type Group struct {
	Tickets []string `json:"tickets"` // this one first
	Players int      `json:"players"` // including those of a game session
	Level   int      `json:"level"`   // at the group's age

	Smallest        int `json:"smallest"` // players in the smallest and in the full match
	Full            int `json:"full"`
	MissingSmallest int `json:"missing_smallest"`
	MissingFull     int `json:"missing_full"`

	Lacks    []search.Shortage `json:"lacks,omitzero"`    // of its rules about counts, unless it is a match
	Match    bool              `json:"match,omitzero"`    // the group is a valid match
	Broken   []string          `json:"broken,omitzero"`   // rules that it breaks in the best teams found
	Breaches []Breach          `json:"breaches,omitzero"` // of Broken, those with a number: by how much
	Teams    string            `json:"teams,omitzero"`    // what is wrong with the team sizes in them
	Rejected []Refusal         `json:"rejected,omitzero"` // what kept others out of the group
}

// Refusal is why compatible tickets did not join a group.
type Refusal struct {
	Rule    string `json:"rule,omitzero"`
	Reason  string `json:"reason,omitzero"`
	Tickets int    `json:"tickets"`
}

// Future is the match that would include the ticket if no ticket were added or removed.
type Future struct {
	At      time.Time `json:"at"`
	In      int64     `json:"in_ms"` // 0 means in the next pass
	Level   int       `json:"level"`
	Players int       `json:"players"`
	Tickets []string  `json:"tickets"`
}

// Ahead describes the simulation that predicts the future.
type Ahead struct {
	Tickets int   `json:"tickets"` // including this one
	Passes  int   `json:"passes"`
	Until   int64 `json:"until_ms"`
	Bounded bool  `json:"bounded,omitzero"` // not all tickets, or several steps in one pass
	Cut     bool  `json:"cut,omitzero"`     // what comes after Until was not played: it takes too long
}
