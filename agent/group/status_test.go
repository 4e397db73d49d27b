package group

import (
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// situations calls do with every situation.
func situations(do func(situation)) {
	for _, stop := range []protocol.Stop{protocol.Keep, protocol.Drain, protocol.End} {
		for bits := range 1 << 6 {
			is := func(bit int) bool { return bits&(1<<bit) != 0 }
			do(situation{stop: stop, named: is(0), runs: is(1), over: is(2), late: is(3), due: is(4), searched: is(5)})
		}
	}
}

// hasContainers reports whether a group of a status has containers; before the first
// status, it may.
func hasContainers(s Status) bool {
	return s == Unnamed || s == Running || s == Draining || s == Ending
}

// In every situation the next status is one that the table allows, and repeated moves
// in the same situation come to an end.
func TestStatus_EveryMoveIsAllowed(t *testing.T) {
	t.Parallel()
	statuses := map[Status]bool{"": true}
	for m := range Moves {
		statuses[m[1]] = true
	}
	made := map[[2]Status]bool{ // by jobs
		{Pulling, Starting}: true, {Pulling, Failed}: true, {Starting, Running}: true, {Starting, Failed}: true,
		{Ending, Pulling}: true, {Ending, Failed}: true, {Ending, Gone}: true,
	}
	for s := range statuses {
		situations(func(now situation) {
			if s != "" && now.runs != hasContainers(s) {
				return
			}
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

// Whatever else is true, a group that should end does, once it is known what runs.
func TestStatus_EndsWhenItShould(t *testing.T) {
	t.Parallel()
	situations(func(now situation) {
		if now.stop = protocol.End; !now.searched {
			return
		}
		for _, s := range []Status{"", Unnamed, Pulling, Running, Draining, Failed, Gone} {
			if s != "" && now.runs != hasContainers(s) {
				continue
			}
			want := Gone
			if now.runs {
				want = Ending
			}
			if next := s.next(now); next != want {
				t.Errorf("%q becomes %q at %+v", s, next, now)
			}
		}
	})
}
