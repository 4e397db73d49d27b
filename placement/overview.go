package placement

import (
	"iter"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Depth is the number of pending placements in a queue and their wait.
type Depth struct {
	Pending     int           // QueueDepth
	AverageWait time.Duration // AverageWaitTime of those
}

func (s *Service) depth(r store.Reader, queue string, now time.Time) Depth {
	var d Depth
	for p := range s.t.pending.Equal(r, store.Key(queue)) {
		d.Pending++
		d.AverageWait += max(0, now.Sub(p.Started))
	}
	if d.Pending > 0 {
		d.AverageWait /= time.Duration(d.Pending)
	}
	return d
}

// Waiting returns, for each fleet, the number of placements that are pending in the queues
// that lead to it, and the longest of these queues' average waits.
func (s *Service) Waiting(r store.Reader, now time.Time) map[string]Depth {
	waiting := map[string]Depth{}
	for q := range s.t.queues.All(r) {
		d := s.depth(r, q.Name, now)
		counted := map[string]bool{} // a queue can lead to a fleet by several destinations
		for _, destination := range q.Destinations {
			if f, _ := s.resolve(r, destination); f != nil && !counted[f.ID] {
				counted[f.ID] = true
				at := waiting[f.ID]
				waiting[f.ID] = Depth{at.Pending + d.Pending, max(at.AverageWait, d.AverageWait)}
			}
		}
	}
	return waiting
}

// QueueState is a queue and its pending placements.
type QueueState struct {
	Name         string   `json:"name"`
	ARN          string   `json:"arn"`
	Pending      int      `json:"pending"`         // QueueDepth
	AverageWait  int64    `json:"average_wait_ms"` // AverageWaitTime of those
	Timeout      int64    `json:"timeout_ms"`
	Destinations []string `json:"destinations"` // ARNs
}

// Overview returns every queue, in order of names.
func (s *Service) Overview() []QueueState {
	view, now := s.st.View(), time.Now()
	all := []QueueState{}
	for q := range s.t.queues.All(view) {
		d := s.depth(view, q.Name, now)
		all = append(all, QueueState{
			Name: q.Name, ARN: s.Queues.ARN(q.Name), Pending: d.Pending, AverageWait: d.AverageWait.Milliseconds(),
			Timeout: q.timeout().Milliseconds(), Destinations: append([]string{}, q.Destinations...),
		})
	}
	return all
}

// Pending yields the pending placements of a queue.
func (s *Service) Pending(r store.Reader, queue string) iter.Seq[*Placement] {
	return s.t.pending.Equal(r, store.Key(queue))
}
