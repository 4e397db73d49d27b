package auth

import (
	"context"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Use is when a key was last used. It is kept in memory and written periodically.
type Use struct {
	ID   string    `json:"id"`
	Last time.Time `json:"last"`
}

// keepUse is how often uses are written; a server that crashes loses those since.
const keepUse = 15 * time.Minute

// use records when each key was last used since the server started.
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

// Used records that a key was used just now. Call it after the signature has been
// verified.
func (s *Service) Used(id string) { s.use.touch(id, time.Now()) }

// LastUse returns when a key was last used, or the zero time if never.
func (s *Service) LastUse(r store.Reader, id string) time.Time {
	last := s.use.of(id)
	if kept := s.used.Get(r, id); kept != nil && kept.Last.After(last) {
		last = kept.Last
	}
	return last
}

// Run writes the uses of keys periodically until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(keepUse)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.keepUses(ctx)
		}
	}
}

// keepUses writes the uses of existing keys that are newer than those written.
func (s *Service) keepUses(ctx context.Context) {
	view := s.st.View()
	var uses []Use
	for k := range s.keys.All(view) {
		last, kept := s.use.of(k.ID), s.used.Get(view, k.ID)
		if !last.IsZero() && (kept == nil || last.After(kept.Last)) {
			uses = append(uses, Use{k.ID, last})
		}
	}
	if len(uses) > 0 {
		_ = s.note.Do(ctx, uses) // the next call tries again
	}
}

func (s *Service) runNote(tx *store.Tx, uses []Use) error {
	for _, u := range uses {
		if s.keys.Get(tx, u.ID) != nil {
			s.used.Put(tx, &u)
		}
	}
	return nil
}
