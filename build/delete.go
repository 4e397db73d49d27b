package build

import (
	"context"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Delete hides a build. Fleets that run it continue to, also on new hosts; when the
// last of them is gone, the archive is removed. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, idOrARN string) error {
	_, err := s.cmd.del.Do(ctx, idOrARN)
	return err
}

func (s *Service) runDelete(tx *store.Tx, idOrARN string) (struct{}, error) {
	b, err := s.Find(tx, idOrARN)
	if err != nil {
		return struct{}{}, err
	}
	b = b.clone()
	b.Deleted = tx.Now()
	s.t.builds.Put(tx, b)
	s.tags.Drop(tx, s.opts.Home.Of("build", b.ID))
	s.record(tx, event.BuildDeleted, "build", b.ID, "Build "+b.ID+" was deleted")
	tx.OnCommit(s.loop.Nudge)
	return struct{}{}, nil
}

// runPurge removes deleted builds that no fleet uses.
func (s *Service) runPurge(tx *store.Tx, _ struct{}) (struct{}, error) {
	for b := range s.t.deleted.Equal(tx, "") {
		if s.inUse(tx, b.ID) {
			continue
		}
		at := s.Place(b)
		s.objects.DeleteIn(tx, at.Bucket, at.Key)
		s.t.builds.Delete(tx, b.ID)
	}
	return struct{}{}, nil
}
