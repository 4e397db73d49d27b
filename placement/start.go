package placement

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// StartInput requests a game session from a queue.
type StartInput struct {
	Queue   string // name or ARN
	Request Request

	// Within is the span that the placement belongs to, if not that of its caller.
	Within trace.SpanContext `json:"-"`
}

type startArgs struct {
	Input         StartInput
	AttemptsSoFar int // under this id, by an archived placement
}

// Start creates a PENDING placement in a queue. Errors: NotFound (queue), InvalidRequest
// (id in use, rules of the request).
func (s *Service) Start(ctx context.Context, in StartInput) (*Placement, error) {
	in.Request.Latencies = slices.Clone(in.Request.Latencies)
	share(in.Request.Latencies)
	args := startArgs{Input: in}
	old := s.t.placements.Get(s.st.View(), in.Request.ID)
	if old == nil {
		var err error
		if old, _, err = s.archived(ctx, in.Request.ID); err != nil {
			return nil, err
		}
	}
	if old != nil && old.Over() { // it stays ended, though it may be archived before the command runs
		if err := s.reusable(old); err != nil {
			return nil, err
		}
		args.AttemptsSoFar = old.Attempts
	}
	return s.cmd.start.Do(ctx, args)
}

func (s *Service) runStart(tx *store.Tx, a startArgs) (*Placement, error) {
	r := a.Input.Request
	q, err := s.Queues.Find(tx, a.Input.Queue)
	if err != nil {
		return nil, err
	}
	if old := s.t.placements.Get(tx, r.ID); old != nil {
		if err := s.reusable(old); err != nil {
			return nil, err
		}
		a.AttemptsSoFar = old.Attempts
	}
	if err := r.check(q); err != nil {
		return nil, err
	}
	r.Summary = summarize(r.Latencies)
	p := &Placement{
		ID: r.ID, Queue: q.Name, Started: tx.Now(), Deadline: tx.Now().Add(q.timeout()), Attempts: a.AttemptsSoFar,
		Arrival: tx.ID(""), RoundAt: tx.Now(),
	}
	p.move(Pending)
	s.t.requests.Put(tx, &r)
	s.put(tx, p)
	s.events.Append(tx, event.Event{Code: event.PlacementStarted, Resource: p.ID, Message: "in queue " + q.Name})
	tx.OnCommit(func() { s.metrics.count(metricStarted, q.Name) })
	s.traceBegin(tx, p.ID, a.Input.Within)
	return p, nil
}

// StartNow is like Start inside a transaction of a package above. The id must be new.
func (s *Service) StartNow(tx *store.Tx, in StartInput) (*Placement, error) {
	share(in.Request.Latencies)
	return s.runStart(tx, startArgs{Input: in})
}

// OnEnded registers f to be called in each transaction that ends a placement, with any
// result. It must be called before the store is opened.
func (s *Service) OnEnded(f func(*store.Tx, *Placement)) { s.ended = append(s.ended, f) }

// recordEnd writes an ended placement, announces it and calls the functions of OnEnded.
func (s *Service) recordEnd(tx *store.Tx, p *Placement) {
	s.put(tx, p)
	s.announce(tx, p)
	for _, f := range s.ended {
		f(tx, p)
	}
}

// reusable returns an error if a placement's id may not be reused.
func (s *Service) reusable(old *Placement) error {
	switch {
	case s.opts.UniqueIDs:
		return fault.Invalid("PlacementId: %s was used before; each placement needs an id of its own", old.ID)
	case old.Status == Pending || old.Status == Fulfilled:
		return fault.Invalid("PlacementId: %s names a placement that is %s; only the id of one that was cancelled, timed out or failed may be used again", old.ID, old.Status)
	}
	return nil
}

// check checks the rules that span several members of a request.
func (r *Request) check(q *Queue) error {
	if n := len(r.Players); n > r.MaxPlayers {
		return fault.Invalid("DesiredPlayerSessions: %d players for MaximumPlayerSessionCount %d", n, r.MaxPlayers)
	}
	if i := repeated(playerIDs(r.Players)); i >= 0 {
		return fault.Invalid("DesiredPlayerSessions.%d.PlayerId: player %s is listed twice", i+1, r.Players[i].PlayerID)
	}
	for i, l := range r.Latencies {
		switch {
		case l.PlayerID == "":
			return fault.Invalid("PlayerLatencies.%d.PlayerId: required", i+1)
		case l.Location == "":
			return fault.Invalid("PlayerLatencies.%d.RegionIdentifier: required", i+1)
		case !(l.Millis >= 0): // false also for NaN
			return fault.Invalid("PlayerLatencies.%d.LatencyInMilliseconds: must be 0 or more", i+1)
		}
	}
	return r.checkOverride(q)
}

func (r *Request) checkOverride(q *Queue) error {
	if r.Override == nil {
		return nil
	}
	if len(r.Latencies) > 0 {
		return fault.Invalid("PriorityConfigurationOverride: not allowed together with PlayerLatencies")
	}
	if len(q.Priority) == 0 || q.Priority[0] != ByLocation {
		return fault.Invalid("PriorityConfigurationOverride: queue %s does not put LOCATION first in its PriorityConfiguration", q.Name)
	}
	if i := repeated(r.Override.LocationOrder); i >= 0 {
		return fault.Invalid("PriorityConfigurationOverride.LocationOrder.%d: %s is listed twice", i+1, r.Override.LocationOrder[i])
	}
	return nil
}

func playerIDs(players []session.Joining) []string {
	ids := make([]string, len(players))
	for i, p := range players {
		ids[i] = p.PlayerID
	}
	return ids
}

// Stop cancels a waiting placement. Errors: NotFound, InvalidRequest (ended, or its game
// session is being created).
func (s *Service) Stop(ctx context.Context, id string) (*Placement, *Request, error) {
	_, r, err := s.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.cmd.stop.Do(ctx, id)
	return p, r, err
}

func (s *Service) runStop(tx *store.Tx, id string) (*Placement, error) {
	p := s.t.placements.Get(tx, id)
	if p == nil || p.Over() {
		return nil, fault.Invalid("PlacementId: placement %s is over; only a PENDING placement can be stopped", id)
	}
	if p.Trying() {
		return nil, fault.Invalid("PlacementId: game session %s was created for placement %s; TerminateGameSession ends it", p.GameSessionID, p.ID)
	}
	return s.finish(tx, p, Cancelled, ""), nil
}

// Cancel cancels a pending placement inside a transaction of a package above, even while its
// game session is being created.
func (s *Service) Cancel(tx *store.Tx, id string) {
	if p := s.t.placements.Get(tx, id); p != nil && !p.Over() {
		s.finish(tx, p, Cancelled, "")
	}
}

// finish ends a placement without a game session. A game session that is being created
// for it, here or at a remote, is ended.
func (s *Service) finish(tx *store.Tx, old *Placement, to Status, reason string) *Placement {
	p := *old
	p.move(to)
	p.Ended, p.Reason = tx.Now(), reason
	p.ArchiveAt = tx.Now().Add(s.opts.Linger)
	p.forget()
	s.recordEnd(tx, &p)
	if old.Away() {
		s.away.abandon(tx, old.Attempt)
	}
	if old.Trying() {
		s.sessions.Abandon(tx, old.GameSessionID, "its placement ended: "+string(to))
	}
	return &p
}

// failPending ends the pending placements of a queue that is being deleted.
func (s *Service) failPending(tx *store.Tx, q *Queue) {
	for p := range s.t.pending.Equal(tx, store.Key(q.Name)) {
		s.finish(tx, p, Failed, "the queue was deleted")
	}
}
