package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Expansion is a rule whose limit expansion steps change.
type Expansion struct {
	Rule  string          `json:"rule"`
	Steps []ExpansionStep `json:"steps"` // by age; the first is from 0 on
}

// ExpansionStep is a rule's limit from an age on.
type ExpansionStep struct {
	From  int64   `json:"from_ms"`
	Limit float64 `json:"limit"`
}

// Breach is a rule's number that breaks its limit.
type Breach struct {
	Rule    string  `json:"rule"`
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitzero"` // the limit is the least that is allowed, else the most
}

// Miss is another ticket that one rule alone keeps apart from a ticket.
type Miss struct {
	TicketID string `json:"ticket_id"`
	Players  int    `json:"players"`
	Breach
	In *int64 `json:"in_ms,omitzero"` // after how long expansion steps allow the two; nil means never
}

const (
	missesShown  = 8  // of an explanation
	missesLooked = 64 // how many are looked at for that
)

// expansions returns the rules whose limit the expansion steps change.
func expansions(rs *ruleset.RuleSet) (out []Expansion) {
	for i, r := range rs.Level(0).Rules {
		s := Expansion{Rule: r.Name}
		for _, level := range rs.Levels() {
			limit := level.Rules[i].Limit()
			if n := len(s.Steps); limit.Set && (n == 0 || s.Steps[n-1].Limit != limit.Value) {
				s.Steps = append(s.Steps, ExpansionStep{From: level.From.Milliseconds(), Limit: limit.Value})
			}
		}
		if r.Enforced && len(s.Steps) > 1 {
			out = append(out, s)
		}
	}
	return out
}

// breach returns by how much a lineup breaks a rule; ok is false if that is no number.
func breach(r *ruleset.Rule, l *ruleset.Lineup) (b Breach, ok bool) {
	m, ok := r.Measured(l)
	return Breach{Rule: r.Name, Value: m.Value, Limit: m.Limit, AtLeast: m.AtLeast}, ok && m.Breaks()
}

// beyond returns how far the value is beyond the limit, in proportion to the limit.
func (b Breach) beyond() float64 { return math.Abs(b.Value-b.Limit) / (1 + math.Abs(b.Limit)) }

// missed is a ticket that one rule alone keeps apart from another.
type missed struct {
	*ticket
	Breach
}

// misses returns the tickets that are nearest to playing with t: those that expansion steps
// allow first, and of these the ones whose number is nearest to its limit.
func (w *world) misses(t *ticket, near []missed) (out []Miss) {
	slices.SortStableFunc(near, func(a, b missed) int { return cmp.Compare(a.beyond(), b.beyond()) })
	for _, m := range near[:min(len(near), missesLooked)] {
		out = append(out, Miss{TicketID: m.ID, Players: len(m.Players), Breach: m.Breach, In: w.until(t, m.ticket)})
	}
	slices.SortStableFunc(out, func(a, b Miss) int {
		soon := func(m Miss) int64 {
			if m.In == nil {
				return math.MaxInt64
			}
			return *m.In
		}
		return cmp.Compare(soon(a), soon(b))
	})
	return out[:min(len(out), missesShown)]
}

// until returns after how many milliseconds expansion steps allow two tickets to be
// together, or nil if they never do.
func (w *world) until(t, o *ticket) *int64 {
	age := search.Age(w.rs, []*search.Candidate{t.candidate, o.candidate}, w.now)
	l := search.Together(w.rs, t.candidate, o.candidate)
	for i, level := range w.rs.Levels() {
		if i <= w.rs.LevelAt(age) || w.apart(level, t, o) != "" || len(broken(w.pairing, level, l)) > 0 {
			continue
		}
		in := (level.From - age).Milliseconds()
		return &in
	}
	return nil
}
