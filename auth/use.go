package auth

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Use is when a key, or a login to the console, was last used. It is kept in memory and
// written periodically.
type Use struct {
	ID   string    `json:"id"`
	Last time.Time `json:"last"`
}

// keepUse is how often uses are written. A server that stops in order writes them as well; one
// that crashes loses those since.
const keepUse = 15 * time.Minute

// use records when each key and login was last used since the server started.
type use struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (u *use) touch(id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]time.Time{}
	}
	u.last[id] = now
}

func (u *use) of(id string) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last[id]
}

// all returns the uses, ordered by id.
func (u *use) all() []Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]Use, 0, len(u.last))
	for id, last := range u.last {
		all = append(all, Use{id, last})
	}
	slices.SortFunc(all, func(a, b Use) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (u *use) forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, id)
}

// Used records that a key was used just now. Call it after the signature has been
// verified.
func (s *Service) Used(id string) { s.use.touch(id, time.Now()) }

// Used records that a login was used just now, and the key that it was begun with.
func (ls *Logins) Used(l *Login) {
	ls.keys.Used(l.ID)
	if l.Person == nil {
		ls.keys.Used(l.KeyID)
	}
}

// LastUse returns when the key or login with an id was last used, or the zero time if never.
func (s *Service) LastUse(r store.Reader, id string) time.Time {
	last := s.use.of(id)
	if kept := s.used.Get(r, id); kept != nil && kept.Last.After(last) {
		last = kept.Last
	}
	return last
}

// Run writes the uses of keys and logins periodically until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(keepUse)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.KeepUses(ctx)
		}
	}
}

// KeepUses writes the uses of existing keys and logins that are newer than those written, and
// forgets those of others. Run calls it periodically.
func (s *Service) KeepUses(ctx context.Context) {
	view := s.st.View()
	var uses []Use
	for _, u := range s.use.all() {
		kept := s.used.Get(view, u.ID)
		switch {
		case !s.usable(view, u.ID):
			s.use.forget(u.ID)
		case kept == nil || u.Last.After(kept.Last):
			uses = append(uses, u)
		}
	}
	if len(uses) > 0 {
		_ = s.note.Do(ctx, uses) // the next call tries again
	}
}

func (s *Service) runNote(tx *store.Tx, uses []Use) error {
	for _, u := range uses {
		if s.usable(tx, u.ID) {
			s.used.Put(tx, &u)
		}
	}
	return nil
}

// usable reports whether there is a key or a login with an id.
func (s *Service) usable(r store.Reader, id string) bool {
	return s.keys.Get(r, id) != nil || s.Logins.rows.Get(r, id) != nil
}
