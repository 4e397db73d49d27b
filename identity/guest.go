package identity

import (
	"iter"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// idleStep is by how much a login must postpone the next check for the change to be
// written, so that frequent logins do not cause frequent writes.
const idleStep = 24 * time.Hour

// seen postpones the check of a guest who logs in.
func (s *Service) seen(tx *store.Tx, p *Player) {
	next := tx.Now().Add(s.opts.GuestKeep)
	if s.opts.GuestKeep < 0 || len(p.GuestSecret) == 0 || next.Sub(p.IdleCheck) < idleStep {
		return
	}
	later := *p
	later.IdleCheck = next
	s.t.players.Put(tx, &later)
}

// retire removes a guest whose account has not been used for GuestKeep and who has
// nothing to lose, or sets the next check. It returns how many rows it changed.
func (s *Service) retire(tx *store.Tx, p *Player) (rows int) {
	now := tx.Now()
	used := s.lastUse(tx, p.ID)
	next := used.Add(s.opts.GuestKeep)
	if p.IdleCheck.IsZero() || s.holds(tx, p) { // created before guests were checked, or has something to lose
		next = now.Add(s.opts.GuestKeep)
	}
	if next.After(now) {
		later := *p
		later.IdleCheck = next
		s.t.players.Put(tx, &later)
		return 1
	}
	rows = s.erase(tx, p.ID, "a guest without data, who did not come back for "+s.opts.GuestKeep.String())
	for f := range s.t.familiesOf.Equal(tx, p.ID) {
		s.t.families.Delete(tx, f.ID)
		rows++
	}
	s.notifyOut(tx, p.ID)
	return rows
}

// holds reports whether a player has something that must not be removed with an idle
// guest: data, another login, a ban, or accounts that were merged into it.
func (s *Service) holds(r *store.Tx, p *Player) bool {
	return some(s.dataOf(r, p.ID, "")) || some(s.t.linksOf.Equal(r, p.ID)) || p.Banned(r.Now()) || some(s.t.mergedInto.Equal(r, p.ID))
}

// lastUse returns when a login of a player was last used, or zero if there is none.
func (s *Service) lastUse(r store.Reader, playerID string) (last time.Time) {
	for f := range s.t.familiesOf.Equal(r, playerID) {
		for _, at := range []time.Time{f.Login, f.Rotated} {
			if at.After(last) {
				last = at
			}
		}
	}
	return last
}

func some[V any](rows iter.Seq[*V]) bool {
	for range rows {
		return true
	}
	return false
}
