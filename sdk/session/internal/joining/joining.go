// Package joining implements Join and Leave of session.Sessions, which are the same
// for every implementation except for how a slot is reserved.
package joining

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/musterhq/muster/sdk/session"
)

// Seat is the one game session that a client can be in.
type Seat struct {
	Connector session.Connector // nil only reserves
	taken     atomic.Bool
}

// Join implements session.Sessions.Join with the slot that reserve returns.
func (s *Seat) Join(ctx context.Context, reserve func() (session.Connection, error)) (session.Connection, error) {
	if !s.taken.CompareAndSwap(false, true) {
		return session.Connection{}, session.ErrAlreadyJoined
	}
	place, err := reserve()
	if err != nil {
		s.taken.Store(false)
		return session.Connection{}, err
	}
	if s.Connector == nil {
		return place, nil
	}
	if err := s.Connector.Connect(ctx, place); err != nil {
		s.taken.Store(false)
		return place, fmt.Errorf("%w: %w", session.ErrConnect, err)
	}
	return place, nil
}

// Leave implements session.Sessions.Leave.
func (s *Seat) Leave(ctx context.Context) error {
	if !s.taken.Swap(false) || s.Connector == nil {
		return nil
	}
	return s.Connector.Disconnect(ctx)
}
