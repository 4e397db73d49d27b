package compute

import "github.com/musterhq/muster/internal/store"

// Tally counts the ACTIVE processes of a fleet's location.
type Tally struct {
	Active      int // all of them
	Hosting     int // with a game session
	Free        int // can take one now
	Unavailable int // without one, and cannot take one: lost, or on an impaired host
}

// What the sum of processes counts.
const (
	countActive      = "active"
	countHosting     = "hosting"
	countFree        = "free"
	countUnavailable = "unavailable"
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
	case p.Impaired || !p.Connected:
		return []string{countActive, countUnavailable}
	}
	return []string{countActive}
}

// Tally returns the counts of a fleet's location, "" for all, without iterating over
// the processes.
func (s *Service) Tally(r store.Reader, fleetID, location string) Tally {
	n := func(what string) int { return s.t.tally.Of(r, store.Key(what, fleetID, location)) }
	return Tally{n(countActive), n(countHosting), n(countFree), n(countUnavailable)}
}
