package event

import "slices"

// Filter selects events by what they say. An empty member selects all.
type Filter struct {
	FleetID       string
	GameSessionID string
	Resource      string // any id, name or ARN that an event has
	Codes         []Code // one of them
}

// Has reports whether f selects e.
func (f *Filter) Has(e *Event) bool {
	return (f.FleetID == "" || e.FleetID == f.FleetID) &&
		(f.GameSessionID == "" || e.GameSessionID == f.GameSessionID) &&
		(len(f.Codes) == 0 || slices.Contains(f.Codes, e.Code)) &&
		(f.Resource == "" || e.names(f.Resource))
}

// names reports whether e has an id, name or ARN.
func (e *Event) names(text string) bool {
	switch text {
	case e.Resource, e.FleetID, e.Location, e.ComputeName, e.ProcessID, e.GameSessionID, e.PlayerSessionID, e.ID:
		return true
	}
	return false
}
