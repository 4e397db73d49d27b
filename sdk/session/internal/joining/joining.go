// Package joining implements Join and Leave of session.Sessions, which are the same
// for every implementation except for how a slot is reserved.
package joining

import (
	"context"
	"fmt"
	"sync"

	"github.com/musterhq/muster/sdk/session"
)

// Seat is the one game session that a client can be in.
type Seat struct {
	Connector session.Connector // nil only reserves

	mu    sync.Mutex
	taken bool
}

// Join implements session.Sessions.Join with the slot that reserve returns.
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

// Leave implements session.Sessions.Leave.
func (s *Seat) Leave(ctx context.Context) error {
	if !s.free() || s.Connector == nil {
		return nil
	}
	return s.Connector.Disconnect(ctx)
}

// take records that the client joins. It returns false if it has already joined.
func (s *Seat) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := !s.taken
	s.taken = true
	return free
}

// free records that the client has left. It returns false if it had not joined.
func (s *Seat) free() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.taken
	s.taken = false
	return was
}
