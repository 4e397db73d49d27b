package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/kubernetes/pod"
)

// world is a cluster with one group, which a test plays.
type world struct {
	t       *testing.T
	random  *rand.Rand
	now     time.Time
	pods    []sighting // as the API server has them
	seen    []sighting // as the watch shows them
	memory  memory
	created int
	ended   map[types.UID]bool
	told    map[types.UID]bool
}

// step decides by what the watch shows, and does it.
func (w *world) step(want *wanted) step {
	s, m := decide(want, w.memory, slices.Clone(w.seen), w.now, w.random.Float64())
	w.memory = m
	for _, p := range s.ended {
		w.told[p.uid] = true
		if at := w.at(p.uid); at != nil {
			at.Reported = true
		}
	}
	for _, r := range s.remove {
		at := w.at(r.uid)
		if at == nil {
			continue
		}
		if at.Deleting = true; r.grace == 0 || at.End != nil && !at.End.Stop {
			w.drop(r.uid)
		}
	}
	if s.unseen && !slices.ContainsFunc(w.pods, func(p sighting) bool { return p.Run == w.memory.last }) {
		w.memory.created = time.Time{}
	}
	if s.run > 0 {
		w.begin(s)
	}
	return s
}

func (w *world) begin(s step) {
	if slices.ContainsFunc(w.pods, func(p sighting) bool { return p.End == nil }) {
		w.t.Fatalf("run %d begins beside another: %+v", s.run, w.pods)
	}
	if slices.ContainsFunc(w.pods, func(p sighting) bool { return p.Run >= s.run }) {
		w.t.Fatalf("run %d begins again", s.run)
	}
	w.created++
	w.pods = append(w.pods, sighting{
		name: fmt.Sprint("pod-", s.run), uid: types.UID(fmt.Sprint(w.created)),
		State: pod.State{Run: s.run, Crashes: s.crashes, ProcessID: fmt.Sprint("p-", w.created), Started: w.now},
	})
	w.memory.last, w.memory.created = s.run, w.now
}

func (w *world) at(uid types.UID) *sighting {
	n := slices.IndexFunc(w.pods, func(p sighting) bool { return p.uid == uid })
	if n < 0 {
		return nil
	}
	return &w.pods[n]
}

func (w *world) drop(uid types.UID) {
	w.pods = slices.DeleteFunc(w.pods, func(p sighting) bool { return p.uid == uid })
}

// watch shows everything.
func (w *world) watch() {
	for _, p := range w.seen { // those that went
		if w.at(p.uid) == nil && p.Run == w.memory.last {
			w.memory.created = time.Time{}
		}
	}
	w.seen = slices.Clone(w.pods)
}

// happens has something happen to a pod.
func (w *world) happens() {
	if len(w.pods) == 0 {
		return
	}
	p := &w.pods[w.random.IntN(len(w.pods))]
	switch w.random.IntN(6) {
	case 0, 1: // its game server ends
		if p.End == nil {
			clean := w.random.IntN(2) == 0
			p.End = &pod.End{Known: true, Clean: clean, Lived: w.now.Sub(p.Started), Stop: w.random.IntN(3) == 0}
			w.ended[p.uid] = true
		}
	case 2: // what was told to end has ended
		if p.Deleting {
			w.drop(p.uid)
		}
	case 3: // somebody deletes it
		p.Deleting = true
	case 4: // its node is lost
		if p.End == nil {
			p.End, p.lost = &pod.End{Stop: true}, true
			w.ended[p.uid] = true
		}
	}
}

// Whatever happens, no run begins beside another or twice, although the watch is late; in
// the end one runs, or none if none is desired, and every end that was seen is reported.
func TestDecide_Random(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1e9, 0), ended: map[types.UID]bool{}, told: map[types.UID]bool{}}
		group := &protocol.Group{Name: "0"}
		want := &wanted{group: group}
		for range 300 {
			w.now = w.now.Add(time.Duration(w.random.IntN(5000)) * time.Millisecond)
			switch w.random.IntN(8) {
			case 0:
				w.happens()
			case 1, 2, 3:
				w.watch()
			default:
				w.step(want)
			}
		}
		for _, stop := range []protocol.Stop{protocol.Keep, protocol.End} {
			want.stop = stop
			var s step
			for range 40 { // what is told to end does
				w.now = w.now.Add(10 * time.Minute)
				w.pods = slices.DeleteFunc(w.pods, func(p sighting) bool { return p.Deleting })
				w.watch()
				s = w.step(want)
			}
			w.watch()
			live := 0
			for _, p := range w.pods {
				if p.End == nil {
					live++
				}
			}
			if stop == protocol.Keep && live != 1 || stop == protocol.End && (live != 0 || !s.gone || len(w.pods) > 0) {
				t.Fatalf("seed %d, %q: %d live of %+v, %+v", seed, stop, live, w.pods, s)
			}
		}
	}
}

// A group that crashes is started again later and later; the wait is over at once for
// another end that is not its fault.
func TestDecide_BacksOff(t *testing.T) {
	t.Parallel()
	w := &world{t: t, random: rand.New(rand.NewPCG(1, 1)), now: time.Unix(1e9, 0), ended: map[types.UID]bool{}, told: map[types.UID]bool{}}
	want := &wanted{group: &protocol.Group{Name: "0"}}
	var before time.Duration
	for n := range 6 {
		for w.step(want); w.memory.created.IsZero(); w.step(want) {
			w.now = w.memory.next
		}
		w.watch()
		w.now = w.now.Add(3 * time.Second)
		w.pods[len(w.pods)-1].End = &pod.End{Known: true, Code: 1, Lived: 3 * time.Second}
		w.watch()
		s := w.step(want)
		w.watch()
		wait := s.look.Sub(w.now)
		if s.run != 0 || wait <= before*5/4 && n > 0 {
			t.Fatalf("crash %d is followed by run %d after %v; before it was %v", n+1, s.run, wait, before)
		}
		before = wait
	}
	w.now = w.memory.next
	w.step(want)
	w.watch()
	w.now = w.now.Add(time.Hour)
	last := &w.pods[len(w.pods)-1]
	last.End, last.lost = &pod.End{Stop: true}, true
	w.watch()
	if s := w.step(want); s.run == 0 {
		t.Errorf("the loss of its node is followed by %+v", s)
	}
}

// In a drain a pod is told to end shortly before the deadline, with the rest as its grace.
func TestDecide_Drains(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	d := &protocol.Desired{Stop: protocol.Drain, StopBy: now.Add(time.Minute)}
	w := want(d, &protocol.Group{Name: "0", Stop: protocol.Drain, StopBy: now.Add(time.Hour)})
	pods := []sighting{{name: "pod-1", uid: "1", State: pod.State{Run: 1, ProcessID: "p", Started: now}}}
	s, m := decide(w, memory{}, pods, now, 0)
	if len(s.remove) > 0 || s.gone || !s.look.Equal(now.Add(50*time.Second)) {
		t.Errorf("at first: %+v", s)
	}
	s, m = decide(w, m, pods, now.Add(51*time.Second), 0)
	if len(s.remove) != 1 || s.remove[0].grace != 9*time.Second {
		t.Errorf("before the deadline: %+v", s)
	}
	pods[0].Deleting = true
	if s, m = decide(w, m, pods, now.Add(55*time.Second), 0); len(s.remove) > 0 || s.gone {
		t.Errorf("while it ends: %+v", s)
	}
	if s, _ = decide(w, m, nil, now.Add(58*time.Second), 0); !s.gone || s.run != 0 {
		t.Errorf("when it has ended: %+v", s)
	}
}

// In a drain, a pod that has not started is not waited for.
func TestDecide_DrainEndsWhatHasNotStarted(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	w := &wanted{group: &protocol.Group{Name: "0"}, stop: protocol.Drain, stopBy: now.Add(time.Hour)}
	s, _ := decide(w, memory{}, []sighting{{name: "pod-1", uid: "1", State: pod.State{Run: 1, ProcessID: "p"}}}, now, 0)
	if len(s.remove) != 1 || s.remove[0].grace != atOnce || s.remove[0].why != pod.CodeStopped {
		t.Errorf("got %+v", s)
	}
}

// A pod that somebody deleted is waited for; the next run begins when it is gone.
func TestDecide_WaitsForDeletedPod(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	w := &wanted{group: &protocol.Group{Name: "0"}}
	s, m := decide(w, memory{}, []sighting{{name: "pod-4", uid: "1", State: pod.State{Run: 4, ProcessID: "p", Deleting: true}}}, now, 0)
	if s.run != 0 || len(s.remove) > 0 {
		t.Errorf("while it ends: %+v", s)
	}
	if s, _ = decide(w, m, nil, now, 0); s.run != 5 {
		t.Errorf("when it is gone: %+v", s)
	}
}
