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

// Merges merges two players into one.
type Merges struct {
	*rows
	tokens  *Tokens
	proofs  *proofs
	table   *store.Table[conflict] // by requesting player
	expires *store.DueIndex[conflict]
	merge   *store.Command[mergeArgs, *Family]
}

func newMerges(r *rows, t *Tokens, p *proofs) *Merges {
	s := &Merges{rows: r, tokens: t, proofs: p}
	s.table = store.NewTable(r.st, store.TableSpec[conflict]{Name: "player_conflict", Key: func(c *conflict) string { return c.PlayerID }})
	s.expires = store.NewDueIndex(s.table, "expires", func(c *conflict) time.Time { return c.expires() })
	s.merge = store.NewCommand(r.st, "player.merge", s.runMerge)
	return s
}

// note records an attempt to link an account of the holder. It returns false if
// the holder is banned, since a merge must not end a ban. Like a login it requires an
// unused proof, because a merge may take the account away.
func (s *Merges) note(tx *store.Tx, a linkArgs, holder string) (bool, error) {
	if p := s.players.account(tx, holder); p == nil || p.Banned(tx.Now()) {
		return false, nil
	}
	if err := s.proofs.unused(tx, a.Proof, a.Provider); err != nil {
		return false, err
	}
	s.proofs.use(tx, a.Proof)
	s.table.Put(tx, &conflict{
		PlayerID: a.Player, HolderID: holder, Provider: a.Provider, Subject: a.Subject, Token: a.Conflict, Proven: tx.Now(),
	})
	return true, nil
}

type mergeArgs struct {
	Player, Family string
	Token          string // Digest
	KeepHolder     bool
}

// Merge merges two players into one, with the token from Link's refusal: it keeps either
// the requesting player or the one to whom the account is linked. The other must have
// no further external account. The kept player gets the account, but nothing else of
// the other, who is logged out and counts as deleted; the operator can read the other's
// data for 30 days. The result is a login of the kept player. Refusals:
// ConflictInvalid, NotGuest, IdentityInUse (the kept player has another account of
// the provider), Banned (either is), MergedTooOften, ReauthRequired, TokenInvalid.
func (s *Merges) Merge(ctx context.Context, who Claims, conflictToken string, keepHolder bool) (*Session, error) {
	if err := s.opts.fresh(who); err != nil {
		return nil, err
	}
	return s.tokens.session(s.merge.Do(ctx, mergeArgs{Player: who.PlayerID, Family: who.FamilyID, Token: Digest(conflictToken), KeepHolder: keepHolder}))
}

func (s *Merges) runMerge(tx *store.Tx, a mergeArgs) (*Family, error) {
	f, mine := s.families.table.Get(tx, a.Family), s.players.account(tx, a.Player)
	if f == nil || !f.valid(tx.Now()) || mine == nil {
		return nil, refuse(TokenInvalid, "the access token was revoked")
	}
	c := s.table.Get(tx, a.Player)
	if c == nil || subtle.ConstantTimeCompare([]byte(c.Token), []byte(a.Token)) != 1 || !c.expires().After(tx.Now()) {
		return nil, refuse(ConflictInvalid, "the conflict token has ended or is another player's; link the account again")
	}
	l, theirs := s.links.table.Get(tx, linkKey(c.Provider, c.Subject)), s.players.account(tx, c.HolderID)
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
	s.table.Delete(tx, a.Player)
	s.moveAccount(tx, kept, l)
	s.end(tx, lost, kept)
	if a.KeepHolder {
		f = s.families.begin(tx, kept.ID, c.Provider, c.Proven)
	}
	s.events.Append(tx, event.Event{Code: event.PlayerMerged, Resource: kept.ID, Message: lost.ID + " by " + c.Provider})
	return f, nil
}

// mergeable returns a refusal if an external account would be left without a player, or
// if too many lost players would be kept.
func (s *Merges) mergeable(tx *store.Tx, kept, lost *Player, by *Link) error {
	for l := range s.links.of(tx, lost.ID) {
		if l.key() != by.key() {
			return refuse(NotGuest, "the player to be given up has an account of %s too; unlink it first, or keep that player", l.Provider)
		}
	}
	if other := s.links.at(tx, kept.ID, by.Provider); other != nil && other.key() != by.key() {
		return refuse(IdentityInUse, "the player to be kept has another account of %s; unlink it first", by.Provider)
	}
	if before := s.players.mergedInto.Count(tx, kept.ID) + s.players.mergedInto.Count(tx, lost.ID); before >= mergedMost {
		return refuse(MergedTooOften, "%d players were merged into these two within the last %d days; wait", before, mergedKept/(24*time.Hour))
	}
	return nil
}

func (s *Merges) moveAccount(tx *store.Tx, p *Player, l *Link) {
	if l.PlayerID == p.ID {
		return
	}
	moved := *l
	moved.PlayerID, moved.Linked = p.ID, tx.Now()
	s.links.put(tx, &moved)
}

// end ends a player who was merged into another. The row and the data stay for a
// while; players merged into the lost one before are now merged into the kept one.
func (s *Merges) end(tx *store.Tx, lost, kept *Player) {
	p := *lost
	p.MergedInto, p.Purge = kept.ID, tx.Now().Add(mergedKept)
	p.GuestSecret = nil
	p.TokenVersion++
	s.players.table.Put(tx, &p)
	for old := range s.players.mergedInto.Equal(tx, lost.ID) {
		q := *old
		q.MergedInto = kept.ID
		s.players.table.Put(tx, &q)
	}
	s.families.end(tx, lost.ID, "")
	s.players.notifyOut(tx, lost.ID)
}
