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
	Max   int           `json:"max"` // ms; 0 = none
	From  time.Duration `json:"from"`
	Until time.Duration `json:"until,omitzero"` // zero: until the timeout
}

// Explain says, for every round that decided something and for this moment,
// each candidate in order and why it was chosen or passed over. Errors: NotFound.
func (s *Service) Explain(ctx context.Context, id string) (*Explanation, error) {
	p, r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Placement: p, Request: r, Rounds: p.Rounds}
	view := s.st.View()
	q := s.t.queues.Get(view, p.Queue)
	if q == nil {
		return e, nil
	}
	if len(r.Summary) > 0 {
		e.Caps = capsOver(q.Policies)
	}
	if p.Status == Pending && !p.Trying() {
		now := s.roundNow(view, q, p, time.Now().UTC())
		e.Now = &now
	}
	return e, nil
}

// roundNow is the round of a waiting placement at a moment.
func (s *Service) roundNow(r store.Reader, q *Queue, p *Placement, now time.Time) Round {
	pl := &planner{t: &s.t, r: r, world: s, now: now, left: map[Place]int{}}
	cs := pl.candidates(q)
	x := newJudge(q, p, s.t.requests.Get(r, p.ID), now)
	return pl.round(x, cs, pl.best(x, cs))
}

func capsOver(policies []LatencyPolicy) []Cap {
	var caps []Cap
	var from time.Duration
	for {
		limit, until := capAt(policies, from)
		caps = append(caps, Cap{limit, from, until})
		if until == 0 {
			return caps
		}
		from = until
	}
}
