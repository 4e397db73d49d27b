package placement

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Explanation describes the decisions about a placement.
type Explanation struct {
	Placement *Placement `json:"placement"`
	Request   *Request   `json:"request"`
	Rounds    []Round    `json:"rounds"`           // decisions so far, oldest first
	Now       *Round     `json:"now,omitzero"`     // of a waiting placement: every candidate at this moment
	Caps      []Cap      `json:"caps,omitzero"`    // the latency caps over time
	Attempt   *Attempt   `json:"attempt,omitzero"` // at a remote, in progress
}

// Cap is a latency cap and when it applies, counted from the placement's start.
type Cap struct {
	Max   int   `json:"max"` // ms; 0 means none
	From  int64 `json:"from_ms"`
	Until int64 `json:"until_ms,omitzero"` // 0 means until the timeout
}

// Explain returns, for every recorded round and for this moment, the candidates in order
// and why each was chosen or passed over. Errors: NotFound.
func (s *Service) Explain(ctx context.Context, id string) (*Explanation, error) {
	p, r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	bare := *p
	bare.Rounds = nil
	e := &Explanation{Placement: &bare, Request: r, Rounds: []Round{}}
	for _, round := range p.Rounds {
		e.Rounds = append(e.Rounds, round.withTexts())
	}
	view := s.st.View()
	q := s.t.queues.Get(view, p.Queue)
	if q == nil {
		return e, nil
	}
	if len(r.Summary) > 0 {
		e.Caps = capsOver(ascending(q.Policies))
	}
	if p.Away() {
		if a := s.t.attempts.Get(view, p.Attempt); a != nil {
			e.Attempt = a
		}
	}
	if p.Waits() {
		now, _ := s.newRoundsAt(view, time.Now(), s.away.known(view)).of(q, p, r)
		now = now.withTexts()
		e.Now = &now
	}
	return e, nil
}

// roundsAt computes rounds of waiting placements at one time, sharing the candidates of
// their queues.
type roundsAt struct {
	p     *planner
	lines map[string]*line
}

func (s *Service) newRoundsAt(r store.Reader, now time.Time, away Board) *roundsAt {
	return &roundsAt{p: newPlanner(&s.t, r, s, now, away), lines: map[string]*line{}}
}

// of returns the round of a waiting placement, and when another is due. In
// that round, a candidate that the placement could use is CHOSEN, although nothing is
// placed.
func (a *roundsAt) of(q *Queue, p *Placement, r *Request) (Round, time.Time) {
	l := a.lines[q.Name]
	if l == nil {
		l = newLine(a.p, q)
		l.candidates = a.p.candidates(q)
		a.lines[q.Name] = l
	}
	x := newJudge(&l.rules, p, r, a.p.now)
	best := a.p.best(&x, l.candidates)
	round := a.p.round(&x, l.candidates, best)
	if best != nil {
		round.Result = "about to be placed on " + best.Place.String()
	}
	return round, x.next(p)
}

// roundsAtOnce is the most rounds that one transaction writes.
const roundsAtOnce = 256

// runExplain records the rounds that are due for waiting placements: when they could not
// be placed immediately, and when their latency cap has changed.
func (s *Service) runExplain(tx *store.Tx, a boardArgs) error {
	rounds, n := s.newRoundsAt(tx, tx.Now(), a.Away), 0
	for old := range s.t.unexplained.Due(tx, tx.Now()) {
		if n == roundsAtOnce {
			break
		}
		n++
		p := *old
		p.RoundAt = time.Time{}
		if q := s.t.queues.Get(tx, p.Queue); q != nil {
			round, next := rounds.of(q, old, s.t.requests.Get(tx, p.ID))
			if round.chose() {
				continue // the next plan places it
			}
			p.keep(round)
			p.RoundAt = next
			s.wakeFor(tx, p.ID, round, a.Away)
		}
		s.t.placements.Put(tx, &p)
	}
	return nil
}

// wakeFor wakes the first place that a waiting placement may use and that is scaled to
// zero, here or in another region of the deployment.
func (s *Service) wakeFor(tx *store.Tx, placementID string, round Round, away Board) {
	for _, v := range round.Candidates {
		if v.Outcome != NoFreeProcess {
			continue
		}
		if v.Place.Remote != "" {
			if away.asleep(v.Place) {
				tx.OnCommit(func() { s.away.wake(v.Place, "placement "+placementID+" waits for a process") })
				return
			}
			continue
		}
		f := s.fleets.Get(tx, v.Place.FleetID)
		if f == nil {
			continue
		}
		if l := f.Place(v.Place.Location); l != nil && l.Asleep() {
			s.fleets.Capacities.WakeIn(tx, f.ID, l.Location, "placement "+placementID+" waits for a process")
			return
		}
	}
}

func capsOver(policies []LatencyPolicy) []Cap {
	var caps []Cap
	var from time.Duration
	for {
		limit, until := capAt(policies, from)
		caps = append(caps, Cap{limit, from.Milliseconds(), until.Milliseconds()})
		if until == 0 {
			return caps
		}
		from = until
	}
}
