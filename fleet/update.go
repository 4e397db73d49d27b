package fleet

import (
	"context"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// UpdateInput patches a fleet: nil members leave the value unchanged.
type UpdateInput struct {
	FleetID           string
	Name, Description *string
	Protection        *Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Cost              *string
}

// Update changes attributes of a fleet. A new protection policy applies to new game
// sessions only.
// Errors: NotFound, InvalidFleetStatus.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Fleet, error) {
	return s.update.Do(ctx, in)
}

func (s *Service) runUpdate(tx *store.Tx, in UpdateInput) (*Fleet, error) {
	f, err := s.changeable(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	was := f.Protection
	set(&f.Name, in.Name)
	set(&f.Description, in.Description)
	set(&f.Protection, in.Protection)
	set(&f.Cost, in.Cost)
	if in.CreationLimit != nil {
		f.CreationLimit = in.CreationLimit
	}
	if in.MetricGroups != nil {
		f.MetricGroups = in.MetricGroups
	}
	s.t.fleets.Put(tx, f)
	code, text := event.FleetUpdated, "Fleet attributes were updated"
	if f.Protection != was {
		code, text = event.FleetProtectionPolicyUpdated, "New game sessions are created with "+string(f.Protection)+", before "+string(was)
	}
	s.record(tx, code, f, "", text)
	return f, nil
}

// OnRuntime sets the function to call, after commit, when a fleet's runtime configuration
// is replaced.
func (s *Service) OnRuntime(f func(fleetID string)) { s.onRuntime = f }

func (s *Service) rerun(fleetID string) func() { return func() { s.onRuntime(fleetID) } }

type runtimeArgs struct {
	FleetID string
	Runtime Runtime
}

// UpdateRuntime replaces a fleet's runtime configuration, even before the fleet is ACTIVE
// (API reference, UpdateRuntimeConfiguration).
// Errors: NotFound, InvalidFleetStatus (DELETING), InvalidRequest.
func (s *Service) UpdateRuntime(ctx context.Context, fleetID string, r Runtime) (*Fleet, error) {
	return s.updateRuntime.Do(ctx, runtimeArgs{fleetID, r})
}

func (s *Service) runUpdateRuntime(tx *store.Tx, a runtimeArgs) (*Fleet, error) {
	old, err := s.Find(tx, a.FleetID)
	if err != nil {
		return nil, err
	}
	if old.Status == Deleting {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; its runtime configuration cannot be updated any more", old.ID, old.Status)
	}
	f := old.clone()
	if err := a.Runtime.Validate(); err != nil {
		return nil, err
	}
	if f.Managed != nil && len(a.Runtime.Processes) == 0 {
		return nil, fault.Invalid("RuntimeConfiguration.ServerProcesses: at least one is required for a fleet with ComputeType EC2")
	}
	f.Runtime = a.Runtime
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetUpdated, f, "", "The runtime configuration was replaced")
	tx.OnCommit(s.rerun(f.ID))
	return f, nil
}

// set assigns *v to *to unless v is nil.
func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
