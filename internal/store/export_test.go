package store

import "context"

// FollowOnce does one step of Follow.
func (s *Store) FollowOnce(ctx context.Context) error {
	if f := s.beginFollowing(func() {}); f != nil {
		close(f.done)
	}
	err := s.followed.step(ctx)
	s.followed.note(err)
	return err
}
