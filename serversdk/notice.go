package serversdk

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
)

// noticeEvery is how often refused connections are reported in a fleet's event log.
const noticeEvery = time.Minute

// maxNoticed limits the number of fleets for which refusals are counted; fleets that do
// not exist are not among them.
const maxNoticed = 10_000

// notices report to the developers of game servers why connections are refused: the
// SDKs only say, after minutes, that they could not connect. The first refusal of a
// fleet is reported immediately, those of the next minute together.
type notices struct {
	mu      sync.Mutex
	byFleet map[string]*notice
}

// notice is what has not been reported to a fleet yet.
type notice struct {
	next  time.Time // not reported again before
	count int       // since the last report
	ref   compute.Ref
	text  string // of the latest
}

// add counts a refusal. It returns a notice if one is to be reported now.
func (n *notices) add(ref compute.Ref, text string, now time.Time) (tell notice, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.byFleet[ref.FleetID]
	if w == nil {
		if len(n.byFleet) >= maxNoticed {
			return notice{}, false
		}
		w = &notice{}
		n.byFleet[ref.FleetID] = w
	}
	w.count, w.ref, w.text = w.count+1, ref, text
	return n.take(w, now)
}

// due returns the notices that are to be reported now, and deletes fleets without any.
func (n *notices) due(now time.Time) (tell []notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for fleet, w := range n.byFleet {
		if t, ok := n.take(w, now); ok {
			tell = append(tell, t)
		} else if !now.Before(w.next) {
			delete(n.byFleet, fleet)
		}
	}
	return tell
}

// take returns the notice that is to be reported now. mu must be held.
func (n *notices) take(w *notice, now time.Time) (notice, bool) {
	if w.count == 0 || now.Before(w.next) {
		return notice{}, false
	}
	told := *w
	w.count, w.next = 0, now.Add(noticeEvery)
	return told, true
}

// String returns the event's message.
func (w notice) String() string {
	text := fmt.Sprintf("Game server process %s on compute %s was refused: %s", w.ref.ProcessID, w.ref.ComputeName, w.text)
	if w.count > 1 {
		text += fmt.Sprintf(" (and %d refusals before it)", w.count-1)
	}
	return text
}

// noteRefusal reports a refusal to the fleet's developer, if the fleet exists.
func (s *Server) noteRefusal(a arrival, err error) {
	f, ok := fault.As(err)
	if !ok || f.Kind == fault.Throttling || f.Kind == fault.InternalService || f.Kind == fault.InvalidRequest || !s.opts.Computes.HasFleet(s.opts.Store.View(), a.ref.FleetID) {
		return
	}
	w, ok := s.notices.add(a.ref, f.Message, time.Now())
	if !ok || !s.begin() {
		return
	}
	go func() { // the answer does not wait for it
		defer s.requests.Done()
		s.tell(s.ctx, w)
	}()
}

func (s *Server) tell(ctx context.Context, w notice) {
	if err := s.opts.Computes.Refused(ctx, w.ref, w.String()); err != nil && ctx.Err() == nil {
		s.log.Error("refused connections not told", "fleet", w.ref.FleetID, "error", err)
	}
}
