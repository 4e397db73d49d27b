package identity

import (
	"context"
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

type renameArgs struct{ Player, Name string }

// Rename sets a player's display name: 3 to 32 characters, none of them a
// control character, no spaces at the ends. Names are not unique. Refusals:
// Invalid, NotFound.
func (s *Service) Rename(ctx context.Context, playerID, name string) (*Player, error) {
	n := utf8.RuneCountInString(name)
	unprintable := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) })
	if n < minName || n > maxName || unprintable || strings.TrimSpace(name) != name {
		return nil, refuse(Invalid, "display_name: must have %d to %d printable characters and no spaces at its ends", minName, maxName)
	}
	return s.cmd.rename.Do(ctx, renameArgs{playerID, name})
}

func (s *Service) runRename(tx *store.Tx, a renameArgs) (*Player, error) {
	old := s.account(tx, a.Player)
	if old == nil {
		return nil, s.missing(tx, a.Player)
	}
	p := *old
	p.DisplayName = a.Name
	s.t.players.Put(tx, &p)
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
func (s *Service) Ban(ctx context.Context, playerID, reason string, until time.Time) error {
	_, err := s.cmd.ban.Do(ctx, banArgs{playerID, reason, until.UTC().Truncate(time.Millisecond)})
	return err
}

func (s *Service) runBan(tx *store.Tx, a banArgs) (struct{}, error) {
	old := s.t.players.Get(tx, a.Player)
	if old != nil && old.MergedInto != "" {
		old = s.t.players.Get(tx, old.MergedInto)
	}
	if old == nil {
		return struct{}{}, refuse(NotFound, "player %s does not exist", a.Player)
	}
	p := *old
	p.BannedUntil, p.BanReason = a.Until, a.Reason
	p.TokenVersion++
	s.t.players.Put(tx, &p)
	s.endLogins(tx, p.ID)
	if p.Banned(tx.Now()) {
		s.notifyOut(tx, p.ID)
	}
	s.events.Append(tx, event.Event{Code: event.PlayerBanned, Resource: p.ID, Message: "until " + a.Until.Format(time.RFC3339) + ": " + a.Reason})
	return struct{}{}, nil
}

// Delete removes an account with its links, logins and data, and what is left of
// accounts that were merged into it. Refusals: ReauthRequired.
func (s *Service) Delete(ctx context.Context, c Claims) error {
	if err := s.fresh(c); err != nil {
		return err
	}
	_, err := s.cmd.remove.Do(ctx, c.PlayerID)
	return err
}

func (s *Service) runDelete(tx *store.Tx, id string) (struct{}, error) {
	if s.account(tx, id) == nil {
		return struct{}{}, nil
	}
	for p := range s.t.mergedInto.Equal(tx, id) {
		s.erase(tx, p.ID, "")
	}
	s.erase(tx, id, "")
	s.endLogins(tx, id)
	for l := range s.t.linksOf.Equal(tx, id) {
		s.t.links.Delete(tx, l.key())
	}
	s.notifyOut(tx, id)
	return struct{}{}, nil
}

// erase removes a player's row and data; why is for the event. It returns how many
// rows it removed.
func (s *Service) erase(tx *store.Tx, id, why string) (rows int) {
	s.t.players.Delete(tx, id)
	rows++
	for d := range s.dataOf(tx, id, "") {
		s.t.data.Delete(tx, d.id())
		rows++
	}
	s.events.Append(tx, event.Event{Code: event.PlayerDeleted, Resource: id, Message: why})
	return rows
}
