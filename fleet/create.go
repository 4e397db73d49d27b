package fleet

import (
	"context"

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

// Create creates a fleet. An ANYWHERE fleet is ACTIVE immediately; a managed one is NEW
// and becomes ACTIVE step by step (walk.go).
// Errors: InvalidRequest, NotFound (build), LimitExceeded, TaggingFailed.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Fleet, error) {
	return s.create.Do(ctx, in)
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
		Created: tx.Now(), Protection: in.Protection, CreationLimit: in.CreationLimit,
		MetricGroups: in.MetricGroups, Cost: in.Cost, LogPaths: in.LogPaths, Home: s.opts.Home.Region, Runtime: in.Runtime,
		Managed: in.Managed, Gateway: in.Gateway, AsOnDemand: in.AsOnDemand,
	}
	if f.Protection == "" {
		f.Protection = NoProtection
	}
	if f.MetricGroups == nil {
		f.MetricGroups = []string{"default"}
	}
	if err := s.tags.Put(tx, s.opts.Home.Of("fleet", f.ID), in.Tags); err != nil {
		return nil, err
	}
	s.record(tx, event.FleetCreated, f, "", "Fleet "+f.ID+" was created")
	if f.Managed != nil {
		f.move(Made)
		f.addLocations(in.Locations)
	} else {
		f.move(Active)
		f.addLocations(in.Locations)
		s.record(tx, event.FleetStateActive, f, "", "Fleet "+f.ID+" changed state to ACTIVE")
	}
	s.t.fleets.Put(tx, f)
	tx.OnCommit(s.wished)
	return f, nil
}

func (s *Service) checkCreate(tx *store.Tx, in *CreateInput) error {
	if in.ComputeType == Anywhere && len(in.Locations) == 0 {
		return fault.Invalid("Locations: an ANYWHERE fleet needs at least one custom location")
	}
	if (in.ComputeType == EC2) != (in.Managed != nil) {
		return fault.Invalid("ComputeType: %q is not %s or %s", in.ComputeType, EC2, Anywhere)
	}
	if in.Gateway.Mode == gatewayRequired {
		return fault.Invalid("PlayerGatewayMode: no location has a player gateway; use ENABLED, with which players reach game servers directly where there is none, or DISABLED")
	}
	if err := s.checkLocations(tx, in.Managed != nil, 0, in.Locations); err != nil {
		return err
	}
	if in.Managed != nil {
		if err := s.checkManaged(tx, in); err != nil {
			return err
		}
	}
	if q := s.opts.Quotas.Fleets; q > 0 && s.t.fleets.Len(tx) >= q {
		return fault.New(fault.LimitExceeded, "there are %d fleets; the quota is %d", s.t.fleets.Len(tx), q)
	}
	return in.Runtime.Validate()
}
