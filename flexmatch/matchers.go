package flexmatch

import (
	"context"
	"sync"
)

// matchers has a matcher for each configuration.
type matchers struct {
	s     *Service
	mu    sync.Mutex
	m     map[string]*matcher
	fresh chan struct{} // some matcher does not run yet
}

func newMatchers(s *Service) *matchers {
	return &matchers{s: s, m: map[string]*matcher{}, fresh: make(chan struct{}, 1)}
}

// tell notifies a configuration's matcher of changed tickets or, without tickets, of a
// changed configuration. It never blocks.
func (ms *matchers) tell(configuration string, tickets ...string) {
	ms.of(configuration).tell(tickets...)
}

func (ms *matchers) of(configuration string) *matcher {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.m[configuration]
	if m == nil {
		m = &matcher{s: ms.s, name: configuration, nudge: make(chan struct{}, 1), stale: true, rest: ms.s.opts.Interval}
		ms.m[configuration] = m
		nudge(ms.fresh)
	}
	return m
}

// counts returns the rule counts of the searches around a ticket, or nil.
func (ms *matchers) counts(configuration, ticket string) []RuleCount {
	ms.mu.Lock()
	m := ms.m[configuration]
	ms.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.counts(ticket)
}

// reset makes every matcher rebuild its pool.
func (ms *matchers) reset() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.m {
		m.reset()
	}
}

// run starts matchers as they are added. It returns when ctx is done and all have
// stopped.
func (ms *matchers) run(ctx context.Context) {
	for c := range ms.s.t.configurations.All(ms.s.st.View()) {
		ms.of(c.Name)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		for _, m := range ms.idle() {
			running.Go(func() { m.run(ctx) })
		}
		select {
		case <-ctx.Done():
			return
		case <-ms.fresh:
		}
	}
}

// idle returns the matchers that do not run yet, and marks them as running.
func (ms *matchers) idle() (out []*matcher) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.m {
		if !m.running {
			m.running = true
			out = append(out, m)
		}
	}
	return out
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
