package compute

import (
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// taker finds free processes, and counts what processes do.
type taker struct {
	processes *processes
	free      *store.Index[Process] // free ones by fleet, location, then rank and time
	tally     *store.Sum[Process]   // by what is counted, fleet and location ("" is all); and game sessions by place
}

func newTaker(ps *processes) *taker {
	t := &taker{processes: ps}
	t.free = store.NewIndex(ps.rows, "free", func(p *Process, emit func(string)) {
		if p.Free() {
			emit(store.Key(p.FleetID, p.Location) + p.rank() + store.TimeKey(p.Ready))
		}
	})
	t.tally = store.NewSum(ps.rows, "tally", func(p *Process, add func(string, int)) {
		for _, location := range []string{p.Location, ""} {
			for _, what := range p.counted() {
				add(store.Key(what, p.FleetID, location), 1)
			}
		}
		if p.Status != Terminated && p.Doubt {
			add(countDoubtful, 1)
		}
		if p.Status != Terminated && p.GameSessionID != "" {
			add(Key(p.FleetID, p.place()), 1)
		}
	})
	return t
}

// Activating returns the number of ACTIVATING game sessions of a compute.
type Activating func(r store.Reader, fleetID, computeName string) int

// Take assigns a free process of the fleet's location to a game session: the first by
// rank, or else the one that has been ready longest, on a compute that may activate one
// more.
// Errors: FleetCapacityExceeded.
func (t *taker) Take(tx *store.Tx, f *fleet.Fleet, location, gameSessionID string, activating Activating) (*Process, *Compute, error) {
	free := t.firstFree(tx, f, store.Key(f.ID, location), activating)
	if free == nil {
		return nil, nil, fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s in location %s: no free process", f.ID, location)
	}
	p := *free
	p.GameSessionID = gameSessionID
	t.processes.put(tx, &p)
	return &p, t.processes.computes.Get(tx, p.FleetID, p.ComputeName), nil
}

func (t *taker) firstFree(r store.Reader, f *fleet.Fleet, place string, activating Activating) *Process {
	limit := f.Runtime.MaxActivationsOrDefault()
	if limit >= fleet.UnlimitedActivations {
		return t.free.FirstPrefix(r, place) // no limit to check, so no loop and no copy
	}
	for from := ""; ; {
		p, next := t.nextFree(r, place, from, limit, activating)
		if p != nil || next == "" {
			return p
		}
		from = next
	}
}

// nextFree returns the first free process after an index key whose compute may activate
// one more, or else the key at which to continue, past an instance that may not.
func (t *taker) nextFree(r store.Reader, place, from string, limit int, activating Activating) (p *Process, next string) {
	for _, p := range t.free.PrefixAfter(r, place, from, "") {
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
func (t *taker) Free(r store.Reader, f *fleet.Fleet, location string, most int, activating Activating) int {
	limit := f.Runtime.MaxActivationsOrDefault()
	room := map[string]int{} // by compute: how many more it may activate
	n := 0
	for _, p := range t.free.Prefix(r, store.Key(f.ID, location)) {
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

// Activated records that a game session is no longer ACTIVATING: its compute may
// activate another one.
func (t *taker) Activated(tx *store.Tx) { t.processes.announceFree(tx) }

// Hosted returns the number of game sessions on an instance, or on a compute of an Anywhere
// fleet.
func (t *taker) Hosted(r store.Reader, fleetID, name string) int {
	return t.tally.Of(r, Key(fleetID, name))
}

// Tally counts the ACTIVE processes of a fleet's location.
type Tally struct {
	Active      int // all of them
	Hosting     int // with a game session
	Free        int // can take one now
	Unavailable int // without one, and cannot take one: lost, in doubt, or on an impaired host
}

// What the sum of processes counts.
const (
	countActive      = "active"
	countHosting     = "hosting"
	countFree        = "free"
	countUnavailable = "unavailable"
	countDoubtful    = "doubtful" // of all fleets
)

// counted returns the names under which the process is counted.
func (p *Process) counted() []string {
	switch {
	case p.Status != Active:
		return nil
	case p.GameSessionID != "":
		return []string{countActive, countHosting}
	case p.Free():
		return []string{countActive, countFree}
	case p.Impaired || p.Doubt || !p.Connected:
		return []string{countActive, countUnavailable}
	}
	return []string{countActive}
}

// Tally returns the counts of a fleet's location ("" means all locations), without
// iterating over the processes.
func (t *taker) Tally(r store.Reader, fleetID, location string) Tally {
	n := func(what string) int { return t.tally.Of(r, store.Key(what, fleetID, location)) }
	return Tally{n(countActive), n(countHosting), n(countFree), n(countUnavailable)}
}
