package build

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

func (s *Service) runDelete(tx *store.Tx, idOrARN string) error {
	b, err := s.Find(tx, idOrARN)
	if err != nil {
		return err
	}
	b = b.clone()
	b.Deleted = tx.Now()
	s.t.builds.Put(tx, b)
	s.tags.Drop(tx, s.opts.Home.Of("build", b.ID))
	s.record(tx, event.BuildDeleted, b.ID, "Build "+b.ID+" was deleted")
	tx.OnCommit(s.loop.Nudge)
	return nil
}

// runPurge removes deleted builds that no fleet uses.
func (s *Service) runPurge(tx *store.Tx, _ struct{}) error {
	for b := range s.t.deleted.Equal(tx, "") {
		if !s.removable(tx, b) {
			continue
		}
		at := s.Place(b)
		s.objects.DeleteIn(tx, at.Bucket, at.Key)
		s.t.builds.Delete(tx, b.ID)
	}
	return nil
}
