package placement

import "time"

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
		d := s.Depth(view, q.Name, now)
		all = append(all, QueueState{
			Name: q.Name, ARN: s.Queues.ARN(q.Name), Pending: d.Pending, AverageWait: d.AverageWait.Milliseconds(),
			Timeout: q.timeout().Milliseconds(), Destinations: append([]string{}, q.Destinations...),
		})
	}
	return all
}
