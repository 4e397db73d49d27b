package compute

import (
	"iter"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Activating returns the number of ACTIVATING game sessions of a compute.
type Activating func(r store.Reader, fleetID, computeName string) int

// Take assigns a free process of the fleet's location to a game session: the first by
// rank, or else the one that has been ready longest, on a compute that may activate one
// more.
// Errors: FleetCapacityExceeded.
func (s *Service) Take(tx *store.Tx, f *fleet.Fleet, location, gameSessionID string, activating Activating) (*Process, *Compute, error) {
	free := s.firstFree(tx, f, store.Key(f.ID, location), activating)
	if free == nil {
		return nil, nil, fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s in location %s: no free process", f.ID, location)
	}
	p := *free
	p.GameSessionID = gameSessionID
	s.put(tx, &p)
	return &p, s.t.computes.Get(tx, Key(p.FleetID, p.ComputeName)), nil
}

func (s *Service) firstFree(r store.Reader, f *fleet.Fleet, place string, activating Activating) *Process {
	limit := f.Runtime.MaxActivationsOrDefault()
	if limit >= fleet.UnlimitedActivations {
		return s.t.free.FirstPrefix(r, place) // no limit to check, so no loop and no copy
	}
	for from := ""; ; {
		p, next := s.nextFree(r, place, from, limit, activating)
		if p != nil || next == "" {
			return p
		}
		from = next
	}
}

// nextFree returns the first free process after an index key whose compute may activate
// one more, or else the key at which to continue, past an instance that may not.
func (s *Service) nextFree(r store.Reader, place, from string, limit int, activating Activating) (p *Process, next string) {
	for _, p := range s.t.free.PrefixAfter(r, place, from, "") {
		if activating(r, p.FleetID, p.ComputeName) < limit {
			return p, ""
		}
		if rank := p.rank(); rank != "" {
			return nil, place + rank + "\xff"
		}
	}
	return nil, ""
}

// Free returns how many processes of a fleet's location can take a game session now,
// counting up to most.
func (s *Service) Free(r store.Reader, f *fleet.Fleet, location string, most int, activating Activating) int {
	limit := f.Runtime.MaxActivationsOrDefault()
	room := map[string]int{} // by compute: how many more it may activate
	n := 0
	for _, p := range s.t.free.Prefix(r, store.Key(f.ID, location)) {
		if n == most {
			break
		}
		if limit < fleet.UnlimitedActivations {
			key := Key(p.FleetID, p.ComputeName)
			left, seen := room[key]
			if !seen {
				left = limit - activating(r, p.FleetID, p.ComputeName)
			}
			room[key] = left - 1
			if left <= 0 {
				continue
			}
		}
		n++
	}
	return n
}

// Start sends the process its game session once the transaction is durable.
func (s *Service) Start(tx *store.Tx, key string, start Start) {
	tx.OnCommit(func() { s.links.send(key, func(l Link) { l.StartGameSession(start) }) })
}

// Tell sends the process a change of its game session once the transaction is durable.
func (s *Service) Tell(tx *store.Tx, key string, update Update) {
	tx.OnCommit(func() { s.links.send(key, func(l Link) { l.UpdateGameSession(update) }) })
}

// Activated records that a game session is no longer ACTIVATING: its compute may
// activate another one.
func (s *Service) Activated(tx *store.Tx) { s.nowFree(tx) }

// Process returns a process by key, or nil.
func (s *Service) Process(r store.Reader, key string) *Process { return s.t.processes.Get(r, key) }

// On returns the processes of a compute that have not ended.
func (s *Service) On(r store.Reader, fleetID, computeName string) iter.Seq[*Process] {
	return s.t.onCompute.Equal(r, Key(fleetID, computeName))
}

// Hosted returns the number of game sessions on a compute.
func (s *Service) Hosted(r store.Reader, fleetID, computeName string) int {
	return s.t.tally.Of(r, Key(fleetID, computeName))
}

// Processes returns the processes of a fleet that have not ended; location "" means
// all its locations, and fleetID "" all fleets.
func (s *Service) Processes(r store.Reader, fleetID, location string) iter.Seq[*Process] {
	prefix := ""
	switch {
	case location != "":
		prefix = store.Key(fleetID, location)
	case fleetID != "":
		prefix = store.Key(fleetID)
	}
	return func(yield func(*Process) bool) {
		for _, p := range s.t.alive.Prefix(r, prefix) {
			if !yield(p) {
				return
			}
		}
	}
}
