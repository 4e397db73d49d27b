package live

import (
	"context"

	"github.com/musterhq/muster/setup"
)

// Deployment is what has the place of a fleet, and what deployments have left beside it.
type Deployment struct {
	Fleet    string    // its name in the file
	Current  *Deployed `json:",omitempty"` // has the place: aliases and queues lead to it
	Next     *Deployed `json:",omitempty"` // is to get the place: a canary, or a deployment that has stopped
	Previous *Deployed `json:",omitempty"` // had the place before: a rollback gives it back
}

// Deployed is one of the fleets that a deployment is about, with the build that it runs.
type Deployed struct {
	FleetID string
	Status  string // as the API has it, such as ACTIVE
	BuildID string `json:",omitempty"`
	Build   string `json:",omitempty"` // the name of the build; "" if its record has been deleted
	Version string `json:",omitempty"`
}

// Deployment returns what has the place of a fleet now. The error is of the calls alone: a fleet that
// does not exist has nothing in its place.
func (s *Server) Deployment(ctx context.Context, fleet string) (*Deployment, error) {
	m, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return &Deployment{
		Fleet: fleet, Current: m.runs(fleet), Next: m.runs(setup.NextName(fleet)), Previous: m.runs(setup.PreviousName(fleet)),
	}, nil
}

// runs returns the fleet with a key and what it runs, nil if there is none.
func (s *State) runs(key string) *Deployed {
	f, ok := s.fleets[key]
	if !ok {
		return nil
	}
	d := &Deployed{FleetID: *f.FleetId, Status: string(f.Status), BuildID: val(f.BuildId)}
	for _, b := range s.builds {
		if val(b.BuildId) == d.BuildID {
			d.Build, d.Version = val(b.Name), val(b.Version)
		}
	}
	return d
}
