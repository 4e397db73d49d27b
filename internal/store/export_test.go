package store

import (
	"context"
	"maps"
	"slices"
)

// Save remembers what is stored now, and returns a function that makes it be what is stored
// again, as a replica that lacks what was committed since.
func (m *Memory) Save() (lose func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := map[string]*memoryCell{}
	for name, c := range m.cells {
		saved[name] = c.copy()
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for name, c := range saved {
			owner, epoch := m.cells[name].fence.Owner, m.cells[name].fence.Epoch
			*m.cells[name] = *c.copy()
			m.cells[name].fence.Owner, m.cells[name].fence.Epoch = owner, epoch
		}
	}
}

func (c *memoryCell) copy() *memoryCell {
	to := *c
	to.tables, to.logs = map[string]*memoryTable{}, map[string]*memoryLog{}
	for name, t := range c.tables {
		to.tables[name] = &memoryTable{maps.Clone(t.live), maps.Clone(t.archive), maps.Clone(t.holder)}
	}
	for name, l := range c.logs {
		to.logs[name] = &memoryLog{l.last, slices.Clone(l.entries)}
	}
	return &to
}

// FollowOnce does one step of Follow.
func (s *Store) FollowOnce(ctx context.Context) error {
	if f := s.beginFollowing(func() {}); f != nil {
		close(f.done)
	}
	err := s.followed.step(ctx)
	s.followed.note(err)
	return err
}
