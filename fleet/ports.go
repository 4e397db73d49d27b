package fleet

import (
	"context"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// PortsInput lists inbound permissions of a managed fleet to add and to remove.
type PortsInput struct {
	FleetID           string
	Authorize, Revoke []Permission
}

// UpdatePorts changes the inbound permissions of a managed fleet: revocations
// first, each of which must match a permission.
// Errors: NotFound, InvalidRequest, InvalidFleetStatus.
func (s *Service) UpdatePorts(ctx context.Context, in PortsInput) (*Fleet, error) {
	return s.updatePorts.Do(ctx, in)
}

func (s *Service) runUpdatePorts(tx *store.Tx, in PortsInput) (*Fleet, error) {
	f, err := s.managed(tx, in.FleetID)
	if err != nil {
		return nil, err
	}
	m := *f.Managed
	m.Inbound = slices.Clone(m.Inbound)
	for i, p := range in.Revoke {
		at := slices.Index(m.Inbound, p)
		if at < 0 {
			return nil, fault.Invalid("InboundPermissionRevocations.%d: fleet %s has no such permission", i+1, f.ID)
		}
		m.Inbound = slices.Delete(m.Inbound, at, at+1)
	}
	for _, p := range in.Authorize {
		if !slices.Contains(m.Inbound, p) {
			m.Inbound = append(m.Inbound, p)
		}
	}
	if err := checkPermissions(m.Inbound, m.OS); err != nil {
		return nil, err
	}
	f.Managed = &m
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetUpdated, f, "", "The inbound permissions were changed")
	return f, nil
}

// managed returns a copy of an ACTIVE managed fleet.
func (s *Service) managed(tx *store.Tx, idOrARN string) (*Fleet, error) {
	f, err := s.Find(tx, idOrARN)
	if err != nil {
		return nil, err
	}
	if f.Managed == nil {
		return nil, fault.Invalid("FleetId: fleet %s is of ComputeType %s; this works on fleets of ComputeType EC2", f.ID, f.ComputeType)
	}
	return s.changeable(tx, idOrARN)
}
