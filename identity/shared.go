package identity

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
)

// Shared is what other regions of a deployment need in order to know its players, whose
// accounts are in the home region. Other regions have copies of it.
type Shared struct {
	Keys []*SigningKey `json:"keys"` // without the private part
	Bans []*Ban        `json:"bans"`
}

// Ban says that a player of the home region is banned.
type Ban struct {
	PlayerID string    `json:"player_id"`
	Until    time.Time `json:"until"`
}

// mostBans limits how many bans are shared, the newest first. Another region needs a ban for as
// long as access tokens from before it are valid: it is the home region that issues tokens, and
// that issues none to a player who is banned.
const mostBans = 100_000

// Shared returns what other regions need now.
func (s *Service) Shared(r store.Reader, now time.Time) Shared {
	var all Shared
	for k := range s.Tokens.Keys.table.All(r) {
		public := *k
		public.Sealed = nil
		all.Keys = append(all.Keys, &public)
	}
	var banned []*Player
	for p := range s.Accounts.players.banned.Equal(r, isBanned) {
		if p.Banned(now) {
			banned = append(banned, p)
		}
	}
	for _, p := range newest(banned, mostBans) {
		all.Bans = append(all.Bans, &Ban{p.ID, p.BannedUntil})
	}
	return all
}

// newest returns the players who were banned last, at most so many.
func newest(banned []*Player, most int) []*Player {
	if len(banned) <= most {
		return banned
	}
	slices.SortFunc(banned, func(a, b *Player) int { return cmp.Or(b.BannedAt.Compare(a.BannedAt), cmp.Compare(a.ID, b.ID)) })
	return banned[:most]
}

// SameShared reports whether Shared returns the same for two snapshots, apart from bans that
// have ended. It may be false although it does.
func (s *Service) SameShared(a, b *store.Snapshot) bool {
	return s.Tokens.Keys.table.Same(a, b) && s.Accounts.players.table.Same(a, b)
}

// copies are the copies in a region that is not home.
type copies struct {
	*rows
	keys *Keys
	bans *store.Table[Ban]
}

func newCopies(r *rows, keys *Keys) *copies {
	return &copies{r, keys, store.NewTable(r.st, store.TableSpec[Ban]{Name: "player_ban", Key: func(b *Ban) string { return b.PlayerID }})}
}

// run makes the copies those of the home region. What players who are banned now are part of
// here ends.
func (c *copies) run(tx *store.Tx, home Shared) error {
	keys, bans := map[string]*SigningKey{}, map[string]*Ban{}
	for _, k := range home.Keys {
		keys[k.ID] = k
		if c.keys.table.Get(tx, k.ID) == nil {
			c.keys.table.Put(tx, k)
		}
	}
	for k := range c.keys.table.All(tx) {
		if keys[k.ID] == nil {
			c.keys.remove(tx, k)
		}
	}
	for _, b := range home.Bans {
		bans[b.PlayerID] = b
		old := c.bans.Get(tx, b.PlayerID)
		if old == nil {
			c.players.notifyOut(tx, b.PlayerID)
		}
		if old == nil || !old.Until.Equal(b.Until) {
			c.bans.Put(tx, b)
		}
	}
	for b := range c.bans.All(tx) {
		if bans[b.PlayerID] == nil {
			c.bans.Delete(tx, b.PlayerID)
		}
	}
	return nil
}

// check returns a refusal if a player of the home region is banned.
func (c *copies) check(r store.Reader, playerID string, now time.Time) error {
	b := c.bans.Get(r, playerID)
	if b == nil || !b.Until.After(now) {
		return nil
	}
	return &refusal.Refusal{Code: Banned, Message: "this account is banned until " + b.Until.UTC().Format(time.RFC3339), Until: b.Until}
}
