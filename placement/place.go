package placement

import (
	"fmt"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// runPlace creates the game sessions that a plan proposed, each only if its placement
// still waits and its place still has a free process. It returns how many it created.
func (s *Service) runPlace(tx *store.Tx, proposals []Proposal) (int, error) {
	made := 0
	for _, proposal := range proposals {
		p := s.t.placements.Get(tx, proposal.PlacementID)
		if p == nil || !p.Waits() || !p.Deadline.After(tx.Now()) {
			continue
		}
		ok, err := s.attempt(tx, p, proposal)
		if err != nil {
			return 0, err
		}
		if ok {
			made++
		}
	}
	return made, nil
}

func (s *Service) attempt(tx *store.Tx, old *Placement, proposal Proposal) (bool, error) {
	if proposal.Place.Remote != "" {
		s.away.attempt(tx, old, proposal)
		return true, nil
	}
	f := s.fleets.Get(tx, proposal.Place.FleetID)
	if f == nil || !f.Status.Serves() || !f.Has(proposal.Place.Location) {
		return false, nil
	}
	r := s.t.requests.Get(tx, old.ID)
	g, err := s.sessions.Place(tx, f, proposal.Place.Location, s.sessionName(tx, old, proposal.Place), session.GameSession{
		Name: r.Name, Data: r.Data, Matchmaker: r.MatchmakerData, MaxPlayers: r.MaxPlayers, Properties: r.Properties,
	})
	if fault.Is(err, fault.FleetCapacityExceeded) {
		return false, nil // the process was taken in between
	}
	if err != nil {
		return false, err
	}
	p := *old
	p.GameSessionID, p.Location = g.ID, g.Location
	p.Attempts++
	p.keep(proposal.Round)
	s.put(tx, &p)
	return true, nil
}

// sessionName returns the last part of the id of an attempt's game session: the
// placement's id, with a random suffix for a later attempt or if another game session has
// that name. A counter as the suffix could collide with the id of another placement.
func (s *Service) sessionName(tx *store.Tx, p *Placement, at Place) string {
	name := p.ID
	for p.Attempts > 0 || s.sessions.Live(tx, s.sessions.NewID(tx, at.FleetID, at.Location, name)) != nil {
		name = fmt.Sprintf("%s-%08x", p.ID, tx.Rand().Uint32())
		if s.sessions.Live(tx, s.sessions.NewID(tx, at.FleetID, at.Location, name)) == nil {
			break
		}
	}
	return name
}

// fulfil ends the placement whose game session became ACTIVE, and reserves its players'
// slots in the same transaction.
func (s *Service) fulfil(tx *store.Tx, g *session.GameSession) {
	old := s.t.bySession.First(tx, g.ID)
	if old == nil {
		return
	}
	r := s.t.requests.Get(tx, old.ID)
	made, err := s.sessions.Players.ReserveNow(tx, session.ReserveInput{GameSessionID: g.ID, Players: r.Players})
	if err != nil {
		s.finish(tx, old, Failed, err.Error())
		return
	}
	p := *old
	p.IPAddress, p.DNSName, p.Port = g.IPAddress, g.DNSName, g.Port
	for _, m := range made {
		p.Placed = append(p.Placed, Placed{m.PlayerID, m.ID})
	}
	p.move(Fulfilled)
	p.Ended = tx.Now()
	p.ArchiveAt = tx.Now().Add(s.opts.Linger)
	s.recordEnd(tx, &p)
}

// tryElsewhere returns a placement to waiting when its game session ended before it was
// ACTIVE. The place that failed comes last from then on. If the game session was
// terminated by request, the placement fails (API reference, GameSessionPlacement,
// FAILED).
func (s *Service) tryElsewhere(tx *store.Tx, g *session.GameSession) {
	old := s.t.bySession.First(tx, g.ID)
	if old == nil {
		return
	}
	if g.Reason != "" {
		s.finish(tx, old, Failed, "game session "+g.ID+" was terminated before it was ACTIVE")
		return
	}
	p := *old
	p.failed(Place{FleetID: g.FleetID, Location: g.Location})
	p.keep(Round{At: tx.Now(), Result: "game session " + g.ID + " ended before it was ACTIVE; trying elsewhere"})
	p.forget()
	p.RoundAt = tx.Now()
	tx.OnCommit(func() { s.retried.Add(1) }) // before the nudge
	s.put(tx, &p)
	s.events.Append(tx, event.Event{Code: event.PlacementRetried, Resource: p.ID, GameSessionID: g.ID, FleetID: g.FleetID, Location: g.Location})
}
