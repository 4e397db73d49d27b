package lobby

import (
	"context"

	"github.com/musterhq/muster/internal/store"
)

// repairAtOnce limits how many rows of a kind one transaction brings up to date.
const repairAtOnce = 200

type repairArgs struct{ Tickets, Placements []string }

// catchUp brings open rows that a server of an earlier version wrote up to date. That
// version updated them by events, after the matchmaker's own transaction, so they can be
// behind it or have no counterpart. Rows of this version never are.
func (s *Service) catchUp(ctx context.Context) error {
	if s.caughtUp {
		return nil
	}
	var tickets, placements []string
	view := s.st.View()
	for t := range s.Tickets.rows.All(view) {
		if now := s.Tickets.actual(view, t); !t.Over() && !now.equal(&t.Found) {
			tickets = append(tickets, t.ID)
		}
	}
	for p := range s.Placements.rows.All(view) {
		if !p.Over() && s.Placements.actual(view, p) != p.Result {
			placements = append(placements, p.ID)
		}
	}
	for len(tickets)+len(placements) > 0 {
		n, m := min(len(tickets), repairAtOnce), min(len(placements), repairAtOnce)
		if err := s.repair.Do(ctx, repairArgs{tickets[:n], placements[:m]}); err != nil {
			return err
		}
		tickets, placements = tickets[n:], placements[m:]
	}
	s.caughtUp = true
	return nil
}

func (s *Service) runRepair(tx *store.Tx, a repairArgs) error {
	for _, id := range a.Tickets {
		if t := s.Tickets.rows.Get(tx, id); t != nil {
			s.Tickets.update(tx, t, s.Tickets.actual(tx, t))
		}
	}
	for _, id := range a.Placements {
		if p := s.Placements.rows.Get(tx, id); p != nil {
			s.Placements.update(tx, p, s.Placements.actual(tx, p))
		}
	}
	return nil
}

// lost is the reason of a row without a counterpart.
const lost = "Lost"

// actual returns what the players of a ticket should see of the matchmaker's ticket.
func (s *Tickets) actual(r store.Reader, t *Ticket) Found {
	if m := s.deps.Matches.Live(r, t.ID); m != nil {
		return s.found(r, m)
	}
	f := t.Found
	f.State, f.Reason = Failed, lost
	return f
}

// actual returns what the player should see of the queue's placement.
func (s *Placements) actual(r store.Reader, p *Placement) Result {
	if at := s.deps.Placements.Live(r, p.ID); at != nil {
		return resultOf(at, p.PlayerID)
	}
	return Result{State: PlacementFailed, Reason: lost}
}
