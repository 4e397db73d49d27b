package identity

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// How long a merge may be requested, how long the lost player is kept, and how many
// such players one may have: each merge and the deletion iterate over all of them.
const (
	conflictLife = 5 * time.Minute
	mergedKept   = 30 * 24 * time.Hour
	mergedMost   = 20
)

// conflict is a player's attempt to link an account that is linked to another player.
// It shows that both players belong to one person, who may merge them. A player has
// at most one, the newest.
type conflict struct {
	PlayerID string    `json:"player_id"` // who requested the link
	HolderID string    `json:"holder_id"` // to whom the account is linked
	Provider string    `json:"provider"`
	Subject  string    `json:"subject"`
	Token    string    `json:"token"` // Digest of the issued token
	Proven   time.Time `json:"proven"`
}

func (c *conflict) expires() time.Time { return c.Proven.Add(conflictLife) }

// newConflictToken returns a token for the refusal of a link.
func newConflictToken() string { return "ct_" + randomText(24) }

// noteConflict records an attempt to link an account of the holder. It returns false if
// the holder is banned, since a merge must not end a ban. Like a login it requires an
// unused proof, because a merge may take the account away.
func (s *Service) noteConflict(tx *store.Tx, a linkArgs, holder string) (bool, error) {
	if p := s.account(tx, holder); p == nil || p.Banned(tx.Now()) {
		return false, nil
	}
	if err := s.unused(tx, a.Proof, a.Provider); err != nil {
		return false, err
	}
	s.use(tx, a.Proof)
	s.t.conflicts.Put(tx, &conflict{
		PlayerID: a.Player, HolderID: holder, Provider: a.Provider, Subject: a.Subject, Token: a.Conflict, Proven: tx.Now(),
	})
	return true, nil
}

type mergeArgs struct {
	Player, Family string
	Token          string // Digest
	KeepHolder     bool
}

// Merge makes one player of two, with the token from Link's refusal: it keeps either
// the requesting player or the one to whom the account is linked. The other must have
// no further external account. The kept player gets the account, but nothing else of
// the other, who is logged out and counts as deleted; the operator can read the other's
// data for 30 days. The result is a login of the kept player. Refusals:
// ConflictInvalid, NotGuest, IdentityInUse (the kept player has another account of
// the provider), Banned (either is), MergedTooOften, ReauthRequired, TokenInvalid.
func (s *Service) Merge(ctx context.Context, who Claims, conflictToken string, keepHolder bool) (*Session, error) {
	if err := s.fresh(who); err != nil {
		return nil, err
	}
	f, err := s.cmd.merge.Do(ctx, mergeArgs{Player: who.PlayerID, Family: who.FamilyID, Token: Digest(conflictToken), KeepHolder: keepHolder})
	if err != nil {
		return nil, err
	}
	return s.session(f, false)
}

func (s *Service) runMerge(tx *store.Tx, a mergeArgs) (*Family, error) {
	f, mine := s.t.families.Get(tx, a.Family), s.account(tx, a.Player)
	if f == nil || !f.valid(tx.Now()) || mine == nil {
		return nil, refuse(TokenInvalid, "the access token was revoked")
	}
	c := s.t.conflicts.Get(tx, a.Player)
	if c == nil || subtle.ConstantTimeCompare([]byte(c.Token), []byte(a.Token)) != 1 || !c.expires().After(tx.Now()) {
		return nil, refuse(ConflictInvalid, "the conflict token has ended or is another player's; link the account again")
	}
	l, theirs := s.t.links.Get(tx, linkKey(c.Provider, c.Subject)), s.account(tx, c.HolderID)
	if l == nil || theirs == nil || l.PlayerID != theirs.ID {
		return nil, refuse(ConflictInvalid, "the account leads to that player no more; link it again")
	}
	for _, p := range []*Player{mine, theirs} {
		if p.Banned(tx.Now()) {
			return nil, p.banned()
		}
	}
	kept, lost := mine, theirs
	if a.KeepHolder {
		kept, lost = theirs, mine
	}
	if err := s.mergeable(tx, kept, lost, l); err != nil {
		return nil, err
	}
	s.t.conflicts.Delete(tx, a.Player)
	s.giveAccount(tx, kept, l)
	s.giveUp(tx, lost, kept)
	if a.KeepHolder {
		f = s.newFamilySince(tx, kept.ID, c.Provider, c.Proven)
	}
	s.events.Append(tx, event.Event{Code: event.PlayerMerged, Resource: kept.ID, Message: lost.ID + " by " + c.Provider})
	return f, nil
}

// mergeable returns a refusal if an external account would be left without a player, or
// if too many lost players would be kept.
func (s *Service) mergeable(tx *store.Tx, kept, lost *Player, by *Link) error {
	for l := range s.t.linksOf.Equal(tx, lost.ID) {
		if l.key() != by.key() {
			return refuse(NotGuest, "the player to be given up has an account of %s too; unlink it first, or keep that player", l.Provider)
		}
	}
	if other := s.linkTo(tx, kept.ID, by.Provider); other != nil && other.key() != by.key() {
		return refuse(IdentityInUse, "the player to be kept has another account of %s; unlink it first", by.Provider)
	}
	if before := s.t.mergedInto.Count(tx, kept.ID) + s.t.mergedInto.Count(tx, lost.ID); before >= mergedMost {
		return refuse(MergedTooOften, "%d players were merged into these two within the last %d days; wait", before, mergedKept/(24*time.Hour))
	}
	return nil
}

// giveAccount links an external account to the player.
func (s *Service) giveAccount(tx *store.Tx, p *Player, l *Link) {
	if l.PlayerID == p.ID {
		return
	}
	moved := *l
	moved.PlayerID, moved.Linked = p.ID, tx.Now()
	s.t.links.Put(tx, &moved)
	s.events.Append(tx, event.Event{Code: event.PlayerLinked, Resource: p.ID, Message: l.Provider})
}

// giveUp ends a player who was merged into another. The row and the data stay for a
// while; players merged into the lost one before are now merged into the kept one.
func (s *Service) giveUp(tx *store.Tx, lost, kept *Player) {
	p := *lost
	p.MergedInto, p.Purge = kept.ID, tx.Now().Add(mergedKept)
	p.GuestSecret = nil
	p.TokenVersion++
	s.t.players.Put(tx, &p)
	for old := range s.t.mergedInto.Equal(tx, lost.ID) {
		q := *old
		q.MergedInto = kept.ID
		s.t.players.Put(tx, &q)
	}
	s.endLogins(tx, lost.ID)
	s.notifyOut(tx, lost.ID)
}

// account returns a player, or nil if there is none or it was merged into another.
func (s *Service) account(r store.Reader, id string) *Player {
	p := s.t.players.Get(r, id)
	if p == nil || p.MergedInto != "" {
		return nil
	}
	return p
}

// missing is the refusal for an id for which account returns nil. The operator's
// backend, which may hold the id of a merged player, learns which player was kept.
func (s *Service) missing(r store.Reader, id string) error {
	if p := s.t.players.Get(r, id); p != nil {
		return refuse(NotFound, "player %s was merged into %s", id, p.MergedInto)
	}
	return refuse(NotFound, "player %s does not exist", id)
}
