package identity

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Limits of a display name, in characters.
const (
	minName = 3
	maxName = 32
)

// Accounts are the players' accounts.
type Accounts struct {
	*rows
	data   *Data
	rename *store.Command[renameArgs, *Player]
	ban    *store.Action[banArgs]
	remove *store.Action[string]
}

func newAccounts(r *rows, d *Data) *Accounts {
	s := &Accounts{rows: r, data: d}
	s.rename = store.NewCommand(s.st, "player.rename", s.runRename)
	s.ban = store.NewAction(s.st, "player.ban", s.runBan)
	s.remove = store.NewAction(s.st, "player.delete", s.runDelete)
	return s
}

// OnOut registers f to be called in each transaction that bans, deletes or merges away
// a player. It must be called before the store is opened.
func (s *Accounts) OnOut(f func(tx *store.Tx, playerID string)) {
	s.players.out = append(s.players.out, f)
}

// Get returns an account. Refusals: NotFound.
func (s *Accounts) Get(id string) (*Player, error) {
	if p := s.players.account(s.st.View(), id); p != nil {
		return p, nil
	}
	return nil, refuse(NotFound, "player %s does not exist", id)
}

// MayPlay returns an error unless a player has an account, as far as this region can know,
// and is not banned. Refusals:
// TokenInvalid, Banned.
func (s *Accounts) MayPlay(tx *store.Tx, id string) error {
	if s.copies != nil {
		return s.copies.check(tx, id, tx.Now())
	}
	switch p := s.players.account(tx, id); {
	case p == nil:
		return refuse(TokenInvalid, "the account was deleted")
	case p.Banned(tx.Now()):
		return p.banned()
	}
	return nil
}

// Scope returns the scope that a new token of a player would have.
func (s *Accounts) Scope(playerID string) string { return s.links.scope(s.st.View(), playerID) }

// Links returns the external accounts that are linked to a player.
func (s *Accounts) Links(playerID string) []*Link {
	return slices.Collect(s.links.of(s.st.View(), playerID))
}

type renameArgs struct{ Player, Name string }

// Rename sets a player's display name: 3 to 32 characters, none of them a
// control character, no spaces at the ends. Names are not unique. Refusals:
// Invalid, NotFound.
func (s *Accounts) Rename(ctx context.Context, playerID, name string) (*Player, error) {
	if !validName(name) {
		return nil, refuse(Invalid, "display_name: must have %d to %d printable characters and no spaces at its ends", minName, maxName)
	}
	return s.rename.Do(ctx, renameArgs{playerID, name})
}

func validName(name string) bool {
	n := utf8.RuneCountInString(name)
	unprintable := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) })
	return n >= minName && n <= maxName && !unprintable && strings.TrimSpace(name) == name
}

func (s *Accounts) runRename(tx *store.Tx, a renameArgs) (*Player, error) {
	old := s.players.account(tx, a.Player)
	if old == nil {
		return nil, s.players.missing(tx, a.Player)
	}
	p := *old
	p.DisplayName = a.Name
	s.players.table.Put(tx, &p)
	return &p, nil
}

type banArgs struct {
	Player, Reason string
	Until          time.Time
}

// Ban keeps a player out until a time and ends all their logins; a time in the past
// lifts the ban. For a player who was merged into another, it bans the other: a merge
// does not undo what was done before it.
// Refusals: NotFound.
func (s *Accounts) Ban(ctx context.Context, playerID, reason string, until time.Time) error {
	return s.ban.Do(ctx, banArgs{playerID, reason, until.UTC().Truncate(time.Millisecond)})
}

func (s *Accounts) runBan(tx *store.Tx, a banArgs) error {
	old := s.players.table.Get(tx, a.Player)
	if old != nil && old.MergedInto != "" {
		old = s.players.table.Get(tx, old.MergedInto)
	}
	if old == nil {
		return refuse(NotFound, "player %s does not exist", a.Player)
	}
	p := *old
	p.BannedUntil, p.BannedAt, p.BanReason = a.Until, tx.Now(), a.Reason
	p.TokenVersion++
	s.players.table.Put(tx, &p)
	s.families.end(tx, p.ID, "")
	what := "the ban was lifted"
	if p.Banned(tx.Now()) {
		s.players.notifyOut(tx, p.ID)
		what = "until " + a.Until.Format(time.RFC3339) + ": " + a.Reason
	}
	s.events.Append(tx, event.Event{Code: event.PlayerBanned, Resource: p.ID, Message: what})
	return nil
}

// Delete removes an account with its links, logins and data, and what is left of
// accounts that were merged into it. Refusals: ReauthRequired.
func (s *Accounts) Delete(ctx context.Context, c Claims) error {
	if err := s.opts.fresh(c); err != nil {
		return err
	}
	return s.remove.Do(ctx, c.PlayerID)
}

func (s *Accounts) runDelete(tx *store.Tx, id string) error {
	if s.players.account(tx, id) == nil {
		return nil
	}
	for p := range s.players.mergedInto.Equal(tx, id) {
		s.erase(tx, p.ID, "")
	}
	s.erase(tx, id, "")
	s.families.end(tx, id, "")
	for l := range s.links.of(tx, id) {
		s.links.table.Delete(tx, l.key())
	}
	s.players.notifyOut(tx, id)
	return nil
}

// erase removes a player's row and data; why is for the event. It returns how many
// rows it removed.
func (s *Accounts) erase(tx *store.Tx, id, why string) (rows int) {
	s.players.table.Delete(tx, id)
	rows = 1 + s.data.erase(tx, id)
	s.events.Append(tx, event.Event{Code: event.PlayerDeleted, Resource: id, Message: why})
	return rows
}

// retire removes a guest whose account has not been used for GuestKeep and who has
// nothing to lose, or sets the next check. It returns how many rows it changed.
func (s *Accounts) retire(tx *store.Tx, p *Player) (rows int) {
	now := tx.Now()
	used := s.families.lastUse(tx, p.ID)
	next := used.Add(s.opts.GuestKeep)
	if p.IdleCheck.IsZero() || s.holds(tx, p) { // created before guests were checked, or has something to lose
		next = now.Add(s.opts.GuestKeep)
	}
	if next.After(now) {
		s.players.checkAt(tx, p, next)
		return 1
	}
	rows = s.erase(tx, p.ID, "a guest without data, who did not come back for "+s.opts.GuestKeep.String())
	rows += s.families.end(tx, p.ID, "")
	s.players.notifyOut(tx, p.ID)
	return rows
}

// holds reports whether a player has something that must not be removed with an idle
// guest: data, another login, a ban, or accounts that were merged into it.
func (s *Accounts) holds(r *store.Tx, p *Player) bool {
	return some(s.data.of(r, p.ID, "")) || some(s.links.of(r, p.ID)) || p.Banned(r.Now()) || some(s.players.mergedInto.Equal(r, p.ID))
}
