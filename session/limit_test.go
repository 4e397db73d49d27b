package session_test

import (
	"testing"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// A compute activates no more game sessions at a time than its fleet allows, and waiting
// callers are notified when it may activate another one.
func TestCreate_ActivationLimit(t *testing.T) {
	in(t, func(a *arena) {
		_, err := a.Fleets.UpdateRuntime.Do(a.Ctx, fleet.RuntimeInput{FleetID: a.fleet.ID, Runtime: fleet.Runtime{MaxActivations: 1}})
		a.Must(err)
		a.free("a", "b", "c", "d")
		leaves := map[string]func(id string){
			"it is active": func(id string) {
				a.Must(a.Sessions.Activate(a.Ctx, compute.ParseRef(a.game(id).ProcessKey), id))
			},
			"its process ends": func(id string) { a.Must(a.Computes.End(a.Ctx, compute.ParseRef(a.game(id).ProcessKey))) },
			"it is terminated": func(id string) {
				_, err := a.Sessions.Terminate(a.Ctx, id, session.Trigger)
				a.Must(err)
			},
		}
		for name, leave := range leaves {
			id := a.create()
			f := a.Fleets.Get(a.Store.View(), a.fleet.ID)
			if n := a.Sessions.Free(a.Store.View(), f, home, 10); n != 0 {
				a.Errorf("%d processes can be taken while one activates, want 0", n)
			}
			a.Refused("second activation", fault.FleetCapacityExceeded, func() error { _, err := a.Sessions.Create(a.Ctx, a.input()); return err })
			freed := a.freed.Load()
			leave(id)
			if a.freed.Load() == freed {
				a.Errorf("OnFree was not called when %s", name)
			}
		}
		a.create()
	})
}
