package scaling

import (
	"math"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// look adds what is measured now to a location's minute, with the requests that found no process
// since the look before.
func (s *Service) look(r store.Reader, waiting placement.Depth, refused int, f *fleet.Fleet, location string) {
	at := session.Place{FleetID: f.ID, Location: location}
	m := s.minutes[at]
	if m == nil {
		m = &minute{}
		s.minutes[at] = m
	}
	now := s.sample(r, waiting, f, location)
	if now.Metrics["AvailableGameSessions"] == 0 {
		refused += waiting.Pending
	}
	m.add(now, refused)
}

// sample measures a location (developer guide, "Monitor Amazon GameLift Servers
// with Amazon CloudWatch").
func (s *Service) sample(r store.Reader, waiting placement.Depth, f *fleet.Fleet, location string) Sample {
	instances := s.Instances.Counts(r, f, location)
	use := s.Sessions.Use(r, f.ID, location)
	processes := s.Computes.Tally(r, f.ID, location)
	m := map[string]float64{
		"ActiveInstances":                   float64(instances.Active),
		"IdleInstances":                     float64(instances.Idle),
		"ActiveGameSessions":                float64(use.GameSessions),
		"ActivatingGameSessions":            float64(max(0, processes.Hosting-use.GameSessions)),
		"AvailableGameSessions":             float64(processes.Free),
		"ConcurrentActivatableGameSessions": float64(s.Sessions.Free(r, f, location, math.MaxInt)),
		"CurrentPlayerSessions":             float64(use.Players),
		"AvailablePlayerSessions":           float64(max(0, use.MaxPlayers-use.Players)),
		"QueueDepth":                        float64(waiting.Pending),
		"WaitTime":                          waiting.AverageWait.Seconds(),
	}
	if instances.Active > 0 {
		m["PercentIdleInstances"] = 100 * float64(instances.Idle) / float64(instances.Active)
	}
	if processes.Active > 0 { // hosting, free and unreachable processes
		m[targetMetric] = 100 * float64(processes.Free) / float64(processes.Active)
	}
	return Sample{Metrics: m, Sessions: processes.Hosting, Processes: processes.Active, Useless: processes.Unavailable, PerInstance: perInstance(f)}
}

// perInstance returns how many processes an instance runs.
func perInstance(f *fleet.Fleet) int {
	n := 0
	for _, p := range f.Runtime.Processes {
		n += p.Concurrent
	}
	return n
}
