package placement

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Explanation says why a placement is where it is.
type Explanation struct {
	Placement *Placement `json:"placement"`
	Request   *Request   `json:"request"`
	Rounds    []Round    `json:"rounds"`        // decisions so far, oldest first
	Now       *Round     `json:"now,omitzero"`  // of one that waits: every candidate at this moment
	Caps      []Cap      `json:"caps,omitzero"` // the latency caps over its time
}

// Cap is a latency cap and how long it holds, counted from the placement's start.
type Cap struct {
	Max   int   `json:"max"` // ms; 0 = none
	From  int64 `json:"from_ms"`
	Until int64 `json:"until_ms,omitzero"` // 0: until the timeout
}

// Explain says, for every round that decided something and for this moment,
// each candidate in order and why it was chosen or passed over. Errors: NotFound.
func (s *Service) Explain(ctx context.Context, id string) (*Explanation, error) {
	p, r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Placement: withoutRounds(p), Request: r, Rounds: []Round{}}
	for _, round := range p.Rounds {
		e.Rounds = append(e.Rounds, round.told())
	}
	view := s.st.View()
	q := s.t.queues.Get(view, p.Queue)
	if q == nil {
		return e, nil
	}
	if len(r.Summary) > 0 {
		e.Caps = capsOver(ascending(q.Policies))
	}
	if p.Status == Pending && !p.Trying() {
		now, _ := s.newRoundsAt(view, time.Now()).of(q, p, r)
		now = now.told()
		e.Now = &now
	}
	return e, nil
}

// withoutRounds is a placement without what is told beside it.
func withoutRounds(p *Placement) *Placement {
	bare := *p
	bare.Rounds = nil
	return &bare
}

// roundsAt makes rounds of waiting placements at one moment, which share what is
// known of their queues.
type roundsAt struct {
	p     *planner
	lines map[string]*line
}

func (s *Service) newRoundsAt(r store.Reader, now time.Time) *roundsAt {
	return &roundsAt{p: newPlanner(&s.t, r, s, now), lines: map[string]*line{}}
}

// of gives the round of a placement that waits, and when its latency cap changes
// next. A candidate that it could have is the CHOSEN one, though nothing is done.
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
		round.Result = "about to be placed on " + best.FleetID + " in " + best.Location
	}
	return round, x.nextCap(p)
}

// roundsAtOnce bounds how many rounds one transaction writes.
const roundsAtOnce = 256

// runExplain writes the rounds of those that wait and shall have one: when they
// could not be placed at once, and when their latency cap has changed.
func (s *Service) runExplain(tx *store.Tx, _ struct{}) (struct{}, error) {
	rounds, n := s.newRoundsAt(tx, tx.Now()), 0
	for _, old := range s.t.unexplained.Prefix(tx, "") {
		if old.RoundAt.After(tx.Now()) || n == roundsAtOnce {
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
			s.wakeFor(tx, p.ID, round)
		}
		s.t.placements.Put(tx, &p)
	}
	return struct{}{}, nil
}

// wakeFor has the first place that a waiting placement may use, and that scales
// from zero, get an instance.
func (s *Service) wakeFor(tx *store.Tx, placementID string, round Round) {
	for _, v := range round.Candidates {
		if v.Outcome != NoFreeProcess {
			continue
		}
		f := s.fleets.Get(tx, v.Place.FleetID)
		if f == nil {
			continue
		}
		if l := f.Place(v.Place.Location); l != nil && l.Asleep() {
			s.fleets.WakeIn(tx, f.ID, l.Location, "placement "+placementID+" waits for a process")
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
