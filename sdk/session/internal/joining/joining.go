// Package joining is Join and Leave of session.Sessions, which every implementation
// does alike: it differs in how a place is reserved.
package joining

import (
	"context"
	"fmt"
	"sync"

	"github.com/musterhq/muster/sdk/session"
)

// Seat is the one game session that a client is in.
type Seat struct {
	Connector session.Connector // nil only reserves

	mu    sync.Mutex
	taken bool
}

// Join is session.Sessions.Join with a place from reserve.
func (s *Seat) Join(ctx context.Context, reserve func() (session.Connection, error)) (session.Connection, error) {
	if !s.take() {
		return session.Connection{}, session.ErrAlreadyJoined
	}
	place, err := reserve()
	if err != nil {
		s.free()
		return session.Connection{}, err
	}
	if s.Connector == nil {
		return place, nil
	}
	if err := s.Connector.Connect(ctx, place); err != nil {
		s.free()
		return place, fmt.Errorf("%w: %w", session.ErrConnect, err)
	}
	return place, nil
}

// Leave is session.Sessions.Leave.
func (s *Seat) Leave(ctx context.Context) error {
	if !s.free() || s.Connector == nil {
		return nil
	}
	return s.Connector.Disconnect(ctx)
}

// take notes that the client joins; false if it had already.
func (s *Seat) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := !s.taken
	s.taken = true
	return free
}

// free notes that the client is out; false if it was already.
func (s *Seat) free() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.taken
	s.taken = false
	return was
}
