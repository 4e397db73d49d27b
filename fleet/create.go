package fleet

import (
	"cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// CreateInput describes the fleet to create.
type CreateInput struct {
	Name, Description string
	ComputeType       ComputeType
	Locations         []string
	Protection        Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Cost              string
	LogPaths          []string
	Runtime           Runtime
	Managed           *Managed // with ComputeType EC2
	Gateway           Gateway
	AsOnDemand        bool // FleetType ON_DEMAND, explicit for an Anywhere fleet
	Tags              map[string]string
}

func (s *Service) runCreate(tx *store.Tx, in CreateInput) (*Fleet, error) {
	if in.Managed != nil {
		m := *in.Managed
		in.Managed = &m
	}
	if err := s.checkCreate(tx, &in); err != nil {
		return nil, err
	}
	f := &Fleet{
		ID: tx.ID("fleet-"), Name: in.Name, Description: in.Description, ComputeType: in.ComputeType,
		Created: tx.Now(), Protection: cmp.Or(in.Protection, NoProtection), CreationLimit: in.CreationLimit,
		MetricGroups: in.MetricGroups, Cost: in.Cost, LogPaths: in.LogPaths, Home: s.home.Region, Runtime: in.Runtime,
		Managed: in.Managed, Gateway: in.Gateway, AsOnDemand: in.AsOnDemand,
	}
	if f.MetricGroups == nil {
		f.MetricGroups = []string{"default"}
	}
	if err := s.tags.Put(tx, s.home.OfFleet(f.ID), in.Tags); err != nil {
		return nil, err
	}
	s.record(tx, event.FleetCreated, f, "", "Fleet %s was created", f.ID)
	f.addLocations(in.Locations, in.Tags)
	if f.Managed != nil {
		f.move(Made)
	} else {
		f.move(Active)
		s.record(tx, event.FleetStateActive, f, "", "Fleet %s changed state to ACTIVE", f.ID)
	}
	s.putDesired(tx, f)
	return f, nil
}

func (s *Service) checkCreate(tx *store.Tx, in *CreateInput) error {
	if in.ComputeType == Anywhere && len(in.Locations) == 0 {
		return fault.Invalid("Locations: an ANYWHERE fleet needs at least one custom location")
	}
	if (in.ComputeType == EC2) != (in.Managed != nil) {
		return fault.Invalid("ComputeType: %q is not %s or %s", in.ComputeType, EC2, Anywhere)
	}
	if err := in.Gateway.check(); err != nil {
		return err
	}
	if err := s.checkLocations(tx, in.Managed != nil, 0, in.Locations); err != nil {
		return err
	}
	if in.Managed != nil {
		if err := s.checkManaged(tx, in); err != nil {
			return err
		}
	}
	if err := s.checkQuota(tx); err != nil {
		return err
	}
	return in.Runtime.Validate()
}

func (s *Service) checkQuota(tx *store.Tx) error {
	if q := s.quotas.Fleets; q > 0 && s.table.Len(tx) >= q {
		return fault.New(fault.LimitExceeded, "there are %d fleets; the quota is %d", s.table.Len(tx), q)
	}
	return nil
}

func (s *Service) runDelete(tx *store.Tx, fleetID string) error {
	old, err := s.Find(tx, fleetID)
	if err != nil {
		return err
	}
	if old.Containers != nil {
		return fault.Invalid("FleetId: fleet %s is a container fleet; use DeleteContainerFleet", old.ID)
	}
	return s.remove(tx, old)
}

// remove begins the deletion of a fleet. Terraform waits for as long as it gets one of the
// two texts.
func (s *Service) remove(tx *store.Tx, old *Fleet) error {
	if old.Status == Deleting && old.Containers != nil {
		return fault.Invalid("Fleet %s cannot be put to Deleting state from %s", old.ID, old.Status)
	}
	if old.Status == Deleting {
		return fault.Invalid("Cannot delete fleet %s that is in status of %s", old.ID, old.Status)
	}
	f := old.clone()
	f.move(Deleting)
	s.table.Put(tx, f)
	s.record(tx, event.FleetDeleting, f, "", "Fleet %s changed state to DELETING", f.ID)
	notify(tx, s.onDeleting)
	return nil
}

// Finish removes a DELETING fleet. Nothing may be running in it.
func (s *Service) Finish(tx *store.Tx, fleetID string) {
	f := s.table.Get(tx, fleetID).clone()
	f.move(Terminated)
	f.Terminated = tx.Now()
	s.table.Delete(tx, fleetID)
	s.tags.Drop(tx, s.home.OfFleet(fleetID))
	s.Deployments.drop(tx, fleetID)
	s.record(tx, event.FleetDeleted, f, "", "Fleet %s was deleted", f.ID)
	s.notifyDesired(tx)
}
