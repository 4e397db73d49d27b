package live

import (
	"fmt"

	"github.com/musterhq/muster/setup"
)

// step is how far a deployment of a fleet, or its rollback, has come. What fails then leaves the
// fleets in this state.
type step int

const (
	untouched step = iota // the fleet is as it was
	updating              // its build stays, and what else is different is changed
	creating              // the fleet of a first deployment is created
	found                 // the next fleet was there before, from a canary or an earlier command
	beside                // the next fleet is there, and nothing leads to it
	leading               // the next fleet is a canary: queues may have it first
	takingOut             // the next fleet is taken out of service
	takenOut              // the next fleet is gone
	returning             // the previous fleet is to have the place again
	moving                // aliases and queues are changed, some may have been
	moved                 // they are, and the fleets get their new names
	draining              // the fleet is another one, and the previous one is emptied
)

// rolling is the step at which a deployment or a rollback is; nil is that of neither.
type rolling struct {
	fleet string
	at    step
	back  bool // it is a rollback to the previous fleet
}

// reach notes the step at which it is.
func (r *rolling) reach(at step) {
	if r != nil {
		r.at = at
	}
}

// begin notes the step at which a deployment begins, by the fleets that are there.
func (r *rolling) begin(s *State) {
	_, old := s.fleets[r.fleet]
	_, begun := s.fleets[setup.NextName(r.fleet)]
	switch {
	case begun && old:
		r.reach(found)
	case begun:
		r.reach(moved)
	case !old:
		r.reach(creating)
	}
}

// explained adds to an error in which state the fleets are, and which command goes on or undoes it.
func (r *rolling) explained(err error) error {
	if err == nil {
		return nil
	}
	return &Stopped{err, r.state()}
}

// Stopped is the error of a deployment or a rollback that has not come to its end.
type Stopped struct {
	Err   error
	State string // of the fleets, and which command goes on or undoes it: a sentence that begins with "State:"
}

func (e *Stopped) Error() string { return e.Err.Error() + "\n" + e.State }

func (e *Stopped) Unwrap() error { return e.Err }

// state says in which state the fleets are, and which command goes on or undoes it.
func (r *rolling) state() string {
	next, previous := setup.NextName(r.fleet), setup.PreviousName(r.fleet)
	command := func(flag string) string {
		return fmt.Sprintf("'muster deploy --%s --fleet %s'", flag, setup.Quoted(r.fleet))
	}
	takesOut := fmt.Sprintf("%s takes %s out of service again", command("rollback"), next)
	switch r.at {
	case untouched:
		return fmt.Sprintf("State: nothing has been changed at fleet %s. Remove the cause, and run the same command again.", r.fleet)
	case updating:
		return fmt.Sprintf("State: fleet %s has the build that it had; some of its other changes may have been made. The same command goes on.", r.fleet)
	case creating:
		return fmt.Sprintf("State: fleet %s is new, and not ready yet. The same command goes on; there is nothing to go back to.", r.fleet)
	case found:
		return fmt.Sprintf("State: fleet %s serves, and %s of an earlier command is beside it. The same command goes on; %s.", r.fleet, next, takesOut)
	case beside:
		return fmt.Sprintf("State: fleet %s serves as before; %s is beside it, and nothing leads to it yet. The same command goes on; %s.", r.fleet, next, takesOut)
	case leading:
		return fmt.Sprintf("State: fleet %s serves, and its canary %s may get game sessions. %s gives the canary all; %s.", r.fleet, next, command("promote"), takesOut)
	case takingOut:
		return fmt.Sprintf("State: fleet %s serves; %s is being taken out of service. %s goes on.", r.fleet, next, command("rollback"))
	case takenOut:
		return fmt.Sprintf("State: fleet %s serves as before, and %s is gone. There is nothing to undo.", r.fleet, next)
	case returning:
		return fmt.Sprintf("State: fleet %s serves; the one before it, %s, is not in its place yet. %s goes on.", r.fleet, setup.ReturningName(r.fleet), command("rollback"))
	case moving, moved:
		what := "some aliases and queues of fleet %s may lead to %s already, and others not yet"
		if r.at == moved {
			what = "what led to fleet %s leads to %s now, which has not got its name yet"
		}
		switch {
		case r.back:
			return fmt.Sprintf("State: "+what+". %s goes on.", r.fleet, setup.ReturningName(r.fleet), command("rollback"))
		case r.at == moving:
			return fmt.Sprintf("State: "+what+". %s goes on; %s.", r.fleet, next, command("promote"), takesOut)
		}
		return fmt.Sprintf("State: "+what+". %s goes on; after that, %s goes back.", r.fleet, next, command("promote"), command("rollback"))
	}
	is := "is the new one"
	if r.back {
		is = "is the one before again"
	}
	return fmt.Sprintf("State: fleet %s %s, and serves; %s is still being emptied. %s goes on with that; %s exchanges the two again.", r.fleet, is, previous, command("drain"), command("rollback"))
}
