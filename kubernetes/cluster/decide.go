package cluster

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/kubernetes/pod"
)

// sighting is one pod of a group as it was seen.
type sighting struct {
	name string
	uid  types.UID
	busy bool // it is marked so
	lost bool // its node is, so nothing on it can confirm a deletion
	pod.State
}

// wanted is what Muster desires of a group; nil: nothing.
type wanted struct {
	desired *protocol.Desired // the instance
	group   *protocol.Group
	stop    protocol.Stop // the instance's or the group's, whichever ends it sooner
	stopBy  time.Time
}

// want returns what is desired of a group of an instance.
func want(d *protocol.Desired, g *protocol.Group) *wanted {
	w := &wanted{desired: d, group: g}
	switch {
	case d.Stop == protocol.End || g.Stop == protocol.End:
		w.stop = protocol.End
	case d.Stop == protocol.Drain || g.Stop == protocol.Drain:
		w.stop, w.stopBy = protocol.Drain, wake.Earliest(stopBy(d.Stop, d.StopBy), stopBy(g.Stop, g.StopBy))
	}
	return w
}

func stopBy(s protocol.Stop, by time.Time) time.Time {
	if s == protocol.Drain {
		return by
	}
	return time.Time{}
}

// memory is what is remembered of a group between looks.
type memory struct {
	last    int       // number of the last run whose pod was created
	created time.Time // when that was, until the pod is seen
	counted types.UID // of the last ended pod that decided the next two
	crashes int       // consecutive ones
	next    time.Time // no run begins before
	failed  protocol.FailedRun
}

// removal is a pod to delete.
type removal struct {
	name  string
	uid   types.UID
	grace time.Duration
	why   string // event code to note before, or ""
}

// step is what is to be done for a group now.
type step struct {
	run     int // number of the run to begin, or 0
	crashes int // before that run
	remove  []removal
	mark    []removal // pods to mark as busy or not
	ended   []sighting
	unseen  bool      // the last pod created is not seen after a while
	gone    bool      // no pod of the group runs, and none will
	look    time.Time // when to look again, or zero
}

const (
	// softStop is how long before a drain's deadline pods are told to end.
	softStop = 10 * time.Second
	// atOnce is how long a pod has that must end at once. Less would remove it from the
	// cluster while it still runs.
	atOnce = time.Second
	// unseenAfter is how long a created pod may be missing in the watch.
	unseenAfter = 20 * time.Second
)

// decide returns what is to be done for a group, and what to remember of it. chance is a
// number in [0, 1).
func decide(w *wanted, m memory, pods []sighting, now time.Time, chance float64) (step, memory) {
	var s step
	slices.SortFunc(pods, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(b.Run, a.Run), cmp.Compare(a.name, b.name))
	})
	if len(pods) > 0 && pods[0].Run >= m.last {
		m.last, m.created = pods[0].Run, time.Time{}
	}
	var live, over []sighting
	for _, p := range pods {
		if p.End == nil {
			live = append(live, p)
			continue
		}
		over = append(over, p)
		if p.ProcessID != "" && !p.Reported {
			s.ended = append(s.ended, p)
		}
		if p.End.Stop && (!p.Deleting || p.lost) {
			s.remove = append(s.remove, removal{name: p.name, uid: p.uid, grace: remainder(p)})
		}
	}
	if len(over) > 0 && over[0].uid != m.counted {
		m.count(over[0], now, chance)
	}
	for n, p := range over {
		// The last one shows how it ended until the next run begins.
		shown := n == 0 && len(live) == 0 && w != nil && w.stop == protocol.Keep
		if !shown && !p.End.Stop && !p.Deleting && (p.ProcessID == "" || p.Reported || n > maxOver) {
			s.remove = append(s.remove, removal{name: p.name, uid: p.uid})
		}
	}
	if w == nil || w.stop != protocol.Keep {
		s.end(w, live, now)
		s.gone = len(live) == 0 && m.created.IsZero()
		if !m.created.IsZero() {
			s.await(m, now)
		}
		return s, m
	}
	s.keep(w, m, live, now)
	return s, m
}

// keep has one run of a group go on, or begins the next one.
func (s *step) keep(w *wanted, m memory, live []sighting, now time.Time) {
	switch {
	case len(live) > 0:
		for _, p := range live[1:] { // somebody else created it
			if !p.Deleting {
				s.remove = append(s.remove, removal{name: p.name, uid: p.uid, grace: pod.Grace, why: pod.CodeStopped})
			}
		}
		if live[0].busy != w.group.Busy {
			s.mark = append(s.mark, removal{name: live[0].name, uid: live[0].uid})
		}
	case !m.created.IsZero():
		s.await(m, now)
	case m.next.After(now):
		s.look = m.next
	default:
		s.run, s.crashes = m.last+1, m.crashes
	}
}

// maxOver bounds the ended pods of a group that wait for Muster to know their ends.
const maxOver = 5

// remainder returns how long what is left of an ended run has.
func remainder(p sighting) time.Duration {
	if p.lost {
		return 0
	}
	return pod.Grace
}

// await looks again for a pod that was created.
func (s *step) await(m memory, now time.Time) {
	if s.look = m.created.Add(unseenAfter); !s.look.After(now) {
		s.unseen = true
	}
}

// end ends the pods that run. In a drain, those that have started have until its deadline.
func (s *step) end(w *wanted, live []sighting, now time.Time) {
	grace, soft := atOnce, time.Time{}
	if w != nil && w.stop == protocol.Drain && !w.stopBy.IsZero() {
		grace, soft = max(atOnce, w.stopBy.Sub(now)), w.stopBy.Add(-softStop)
	}
	for _, p := range live {
		drains := w != nil && w.stop == protocol.Drain && !p.Started.IsZero()
		switch {
		case p.Deleting:
		case drains && soft.IsZero():
		case drains && soft.After(now):
			s.look = soft
		case drains:
			s.remove = append(s.remove, removal{name: p.name, uid: p.uid, grace: grace, why: pod.CodeStopped})
		default:
			s.remove = append(s.remove, removal{name: p.name, uid: p.uid, grace: atOnce, why: pod.CodeStopped})
		}
	}
}

// count decides when the run after an ended one begins.
func (m *memory) count(p sighting, now time.Time, chance float64) {
	lived := p.End.Lived
	if lived == 0 && !p.Started.IsZero() && p.End.Known {
		lived = now.Sub(p.Started)
	}
	clean := p.End.Clean || p.End.Reason != "" || p.Deleting || p.lost
	next := supervise.Restart{}.Next(max(m.crashes, p.Crashes), lived, clean, chance)
	if p.lost || p.Deleting && lived > 0 {
		next = supervise.Next{Crashes: p.Crashes} // not its fault
	}
	m.counted, m.crashes, m.next = p.uid, next.Crashes, time.Time{}
	if p.ProcessID == "" && !clean {
		m.failed = protocol.FailedRun{ID: string(p.uid), Definition: p.Definition, Cause: p.Cause}
	}
	if next.Wait > 0 {
		m.next = now.Add(next.Wait)
	}
}
