package instance

import (
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// situations calls do with every situation.
func situations(do func(situation)) {
	for _, stop := range []protocol.Stop{protocol.Keep, protocol.Drain, protocol.End} {
		for bits := range 1 << 5 {
			is := func(bit int) bool { return bits&(1<<bit) != 0 }
			do(situation{stop: stop, named: is(0), broken: is(1), retry: is(2), empty: is(3), late: is(4)})
		}
	}
}

// In every situation the next status is one that the table allows, and repeated moves
// in the same situation come to an end.
func TestStatus_EveryMoveIsAllowed(t *testing.T) {
	t.Parallel()
	statuses := map[Status]bool{"": true}
	for m := range Moves {
		statuses[m[1]] = true
	}
	made := map[[2]Status]bool{{Installing, Running}: true, {Installing, Failed}: true, {Stopping, Gone}: true} // by jobs
	for s := range statuses {
		situations(func(now situation) {
			at := s
			for range len(statuses) {
				next := at.next(now)
				if next == at {
					return
				}
				if Moves[[2]Status{at, next}] == "" {
					t.Errorf("from %q to %q at %+v", at, next, now)
				}
				made[[2]Status{at, next}] = true
				now.retry = false // an attempt was made of what is desired now
				at = next
			}
			t.Errorf("from %q there is no end at %+v", s, now)
		})
	}
	for m := range Moves {
		if !made[m] {
			t.Errorf("no situation leads from %q to %q", m[0], m[1])
		}
	}
}

// Whatever else is true, an instance that should end does.
func TestStatus_EndsWhenItShould(t *testing.T) {
	t.Parallel()
	for m := range Moves {
		situations(func(now situation) {
			if now.stop = protocol.End; m[1] != Gone && m[1].next(now) != Stopping {
				t.Errorf("%q becomes %q at %+v", m[1], m[1].next(now), now)
			}
		})
	}
}
