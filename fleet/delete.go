package fleet

import (
	"context"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Delete starts the deletion of a fleet: its processes are told to stop, and the fleet is
// removed when the last one has ended. Errors: NotFound, InvalidRequest (DELETING
// already; Terraform depends on the exact message to keep waiting).
func (s *Service) Delete(ctx context.Context, fleetID string) error {
	_, err := s.del.Do(ctx, fleetID)
	return err
}

func (s *Service) runDelete(tx *store.Tx, fleetID string) (struct{}, error) {
	old, err := s.Find(tx, fleetID)
	if err != nil {
		return struct{}{}, err
	}
	if old.Status == Deleting {
		return struct{}{}, fault.Invalid("Cannot delete fleet %s that is in status of %s", old.ID, old.Status)
	}
	f := old.clone()
	f.move(Deleting)
	s.t.fleets.Put(tx, f)
	s.record(tx, event.FleetDeleting, f, "", "Fleet "+f.ID+" changed state to DELETING")
	tx.OnCommit(s.onDeleting)
	return struct{}{}, nil
}

// Finish removes a DELETING fleet. Nothing may be running in it.
func (s *Service) Finish(tx *store.Tx, fleetID string) {
	f := s.t.fleets.Get(tx, fleetID).clone()
	f.move(Terminated)
	f.Terminated = tx.Now()
	s.t.fleets.Delete(tx, fleetID)
	s.tags.Drop(tx, s.opts.Home.Of("fleet", fleetID))
	s.record(tx, event.FleetDeleted, f, "", "Fleet "+f.ID+" was deleted")
	tx.OnCommit(s.wished)
}
