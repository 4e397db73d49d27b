package store

import "runtime"

// keepJournal makes one group after another durable until the store is closed and
// nothing is left.
func (s *Store) keepJournal() {
	for {
		g := s.nextGroup()
		if g == nil {
			return
		}
		if err := s.journal.commit(g, s.View()); err != nil {
			s.startOver(g, err)
			continue
		}
		s.publish(g)
		s.settle(g, nil)
	}
}

// nextGroup waits for a group and takes it; nil means that the store is closed and
// nothing is left.
func (s *Store) nextGroup() *group {
	for {
		g, closed := s.takeGroup()
		if g != nil || closed {
			return g
		}
		<-s.wake
		s.gather()
	}
}

// gather lets callers that are ready to run join the group before it is committed: the
// goroutine that a command wakes runs before all others on its processor, so the journal
// would commit that command alone. What else is ready may be a long computation instead.
// So the more often yielding brought no command, the more wakes pass until it is tried
// again.
func (s *Store) gather() {
	if !s.yields.due() {
		return
	}
	before := s.queued()
	runtime.Gosched()
	s.yields.tried(s.queued() > before)
}

// yields records whether yielding pays. Only the journal uses it.
type yields struct {
	vain int // grows with each yield that brought no command
	skip int // wakes until the next yield
}

// mostSkipped bounds how many wakes pass between two yields, and so how soon yielding pays
// again when more callers come.
const mostSkipped = 63

// due reports whether to yield at this wake.
func (y *yields) due() bool {
	y.skip--
	return y.skip < 0
}

// tried records whether a yield brought a command.
func (y *yields) tried(paid bool) {
	y.vain = min(2*y.vain+1, mostSkipped)
	if paid {
		y.vain = 0
	}
	y.skip = y.vain
}

// queued returns the number of commands that are not durable yet.
func (s *Store) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.pending
}

// takeGroup takes the next group. If there is none, it reports whether the store is closed.
func (s *Store) takeGroup() (g *group, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue.sealed) == 0 && s.queue.filling != nil {
		s.queue.seal(s.head.seal())
	}
	g = s.queue.take()
	return g, g == nil && (s.phase == phaseClosed || s.phase == phaseLost)
}

// publish makes the group's state visible and runs its hooks.
func (s *Store) publish(g *group) {
	for _, c := range g.commands {
		c.noteEnded()
	}
	before := s.published.Swap(g.sealed)
	for i, l := range s.catalog.logs {
		if g.sealed.last[i] != before.last[i] {
			l.nudge()
		}
	}
	for _, c := range g.commands {
		for _, hook := range c.hooks {
			s.runHook(hook)
		}
	}
}

// runHook keeps a panicking hook from stopping the journal: its command is already
// durable.
func (s *Store) runHook(hook func()) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("commit hook panicked", "panic", p, "stack", string(stack()))
		}
	}()
	hook()
}

// settle answers the callers of the group in flight.
func (s *Store) settle(g *group, err error) {
	s.mu.Lock()
	s.queue.settle(g)
	s.mu.Unlock()
	g.err = err
	close(g.answer)
}
