package auth

import (
	"reflect"

	"github.com/musterhq/muster/internal/store"
)

// Shared are the keys and logins of a deployment, which its home region manages. Other
// regions have copies, so that they need no other region to know their callers.
type Shared struct {
	Keys   []*Key   `json:"keys"`
	Logins []*Login `json:"logins"`
}

// Shared returns the keys and logins.
func (s *Service) Shared(r store.Reader) Shared {
	var all Shared
	for k := range s.keys.All(r) {
		all.Keys = append(all.Keys, k)
	}
	for l := range s.Logins.rows.All(r) {
		all.Logins = append(all.Logins, l)
	}
	return all
}

// SameShared reports whether Shared returns the same for two snapshots. It may be false although
// it does.
func (s *Service) SameShared(a, b *store.Snapshot) bool {
	return s.keys.Same(a, b) && s.Logins.rows.Same(a, b)
}

// runCopy makes the keys and logins those of the home region.
func (s *Service) runCopy(tx *store.Tx, home Shared) error {
	keys, logins := map[string]*Key{}, map[string]*Login{}
	for _, k := range home.Keys {
		keys[k.ID] = k
	}
	for _, l := range home.Logins {
		logins[l.ID] = l
	}
	was := s.Shared(tx)
	for _, old := range was.Logins {
		if logins[old.ID] == nil {
			s.Logins.drop(tx, old.ID)
			if old.Person != nil {
				s.revoke(tx, old.KeyID)
			}
		}
	}
	for _, old := range was.Keys {
		switch k := keys[old.ID]; {
		case k == nil:
			s.keys.Delete(tx, old.ID)
			s.used.Delete(tx, old.ID)
			tx.OnCommit(func() { s.opened.drop(old.ID) })
			s.revoke(tx, old.ID)
		case k.Disabled && !old.Disabled:
			s.revoke(tx, old.ID)
		}
	}
	for _, k := range home.Keys {
		if old := s.keys.Get(tx, k.ID); old == nil || !reflect.DeepEqual(old, k) {
			s.keys.Put(tx, k)
		}
	}
	for _, l := range home.Logins {
		if old := s.Logins.rows.Get(tx, l.ID); old == nil || !reflect.DeepEqual(old, l) {
			s.Logins.rows.Put(tx, l)
		}
	}
	return nil
}
