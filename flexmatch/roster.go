package flexmatch

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/session"
)

// LeaversTag is the key of a tag of a matchmaking configuration. With the value ReplaceLeavers,
// automatic backfill replaces players who have left their game session; without it, they count as
// playing, as at AWS.
const (
	LeaversTag     = "muster:backfill-leavers"
	ReplaceLeavers = "replace"
)

// roster keeps tickets up to date with who is in which game session. A backfill counts those of
// its players who play, and has room for as many more as the game session has free slots. A
// player's ticket knows the game sessions that the player is in, which it does not join.
type roster struct {
	t              *tables
	tickets        *tickets
	sessions       *session.Service
	configurations *Configurations
	tags           *tag.Service
}

// regard sets what a ticket that waits says of game sessions. It reports whether that has
// changed. The ticket is modified.
func (s *roster) regard(tx *store.Tx, t *Ticket) bool {
	changed := false
	if t.Backfill {
		changed = s.regardBackfill(tx, t)
	} else if in := s.playsIn(tx, t); !slices.Equal(in, t.PlaysIn) {
		t.PlaysIn, changed = in, true
	}
	if changed {
		t.Revision++
	}
	return changed
}

func (s *roster) regardBackfill(tx *store.Tx, t *Ticket) bool {
	g := s.sessions.Live(tx, t.GameSessionID)
	if g == nil || g.Status.Ended() {
		return false // hosted elsewhere, or about to end
	}
	h := s.t.hosted.Get(tx, g.ID)
	slots, changed, listed := s.slots(tx, g.ID), false, 0
	for i := range t.Members {
		m := &t.Members[i]
		away := false
		switch p := slots[m.PlayerID]; {
		case p != nil && p.Status == session.Playing:
		case p != nil:
			away = s.asks(tx, m.PlayerID) // and takes the reserved slot with the new match
		case t.Automatic:
			away = h == nil || !slices.ContainsFunc(h.Players, func(o Player) bool { return o.ID == m.PlayerID })
		default:
			away = m.Away || s.asks(tx, m.PlayerID)
		}
		if away != m.Away {
			m.Away, changed = away, true
		}
		if !away {
			listed++
		}
	}
	if most := listed + s.free(tx, g, len(slots)); most != t.Most {
		t.Most, changed = most, true
	}
	return changed
}

// slots returns the player sessions that hold a slot of a game session, by player.
func (s *roster) slots(r store.Reader, gameSessionID string) map[string]*session.PlayerSession {
	out := map[string]*session.PlayerSession{}
	for p := range s.sessions.Players.Holding(r, gameSessionID) {
		out[p.PlayerID] = p
	}
	return out
}

// free returns how many players a game session would take now, of whose slots some are held.
func (s *roster) free(r store.Reader, g *session.GameSession, held int) int {
	if g.Status != session.Active || g.JoinPolicy == session.DenyAll || !s.sessions.Reachable(r, g) {
		return 0
	}
	return max(0, g.MaxPlayers-held)
}

// asks reports whether a player has an open ticket of their own.
func (s *roster) asks(r store.Reader, playerID string) bool {
	for t := range s.t.byPlayer.Equal(r, playerID) {
		if !t.Backfill {
			return true
		}
	}
	return false
}

// playsIn returns the game sessions of matches in which a player of a ticket is. A slot that is
// reserved and may be taken with another match does not count.
func (s *roster) playsIn(r store.Reader, t *Ticket) (out []string) {
	for _, m := range t.Members {
		for p := range s.sessions.Players.OfPlayer(r, m.PlayerID) {
			g := s.sessions.Live(r, p.GameSessionID)
			reusable := p.Status == session.Reserved && p.Data == ""
			if !p.Status.HoldsSlot() || reusable || g == nil || g.Matchmaker == "" || slices.Contains(out, g.ID) {
				continue
			}
			out = append(out, g.ID)
		}
	}
	slices.Sort(out)
	return out
}

// renew regards the open backfill of a game session anew, after its players or its room have
// changed. Before, players who have left and are no longer of the game session are removed from
// what automatic backfill counts.
func (s *roster) renew(tx *store.Tx, gameSessionID string) {
	s.forget(tx, gameSessionID)
	for t := range s.t.bySession.Equal(tx, gameSessionID) {
		s.again(tx, t)
	}
}

// again regards a ticket anew, and writes it if that changes it.
func (s *roster) again(tx *store.Tx, old *Ticket) {
	if !old.Status.Waits() {
		return // its match goes on; it is regarded when it waits again
	}
	if t := old.Clone(); s.regard(tx, t) {
		s.tickets.put(tx, t)
	}
}

// forget removes players from an automatic backfill's record who hold no slot of the game session
// and have asked for another match, or who are to be replaced.
func (s *roster) forget(tx *store.Tx, gameSessionID string) {
	old := s.t.hosted.Get(tx, gameSessionID)
	g := s.sessions.Live(tx, gameSessionID)
	if old == nil || g == nil || g.Status.Ended() {
		return
	}
	slots, replaces := s.slots(tx, gameSessionID), s.replaces(tx, old.Configuration)
	h := *old
	h.Players = slices.DeleteFunc(slices.Clone(old.Players), func(p Player) bool {
		return slots[p.ID] == nil && (replaces || s.asks(tx, p.ID))
	})
	if len(h.Players) < len(old.Players) {
		s.t.hosted.Put(tx, &h)
	}
}

// replaces reports whether automatic backfill of a configuration replaces players who have left.
func (s *roster) replaces(r store.Reader, configuration string) bool {
	return s.tags.Of(r, s.configurations.ARN(configuration))[LeaversTag] == ReplaceLeavers
}

// counted returns the game sessions whose backfill counts a player of a ticket.
func (s *roster) counted(r store.Reader, t *Ticket) (out []string) {
	add := func(id string) {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, m := range t.Members {
		for h := range s.t.ofPlayer.Equal(r, m.PlayerID) {
			add(h.GameSessionID)
		}
		for other := range s.t.byPlayer.Equal(r, m.PlayerID) {
			if other.Backfill {
				add(other.GameSessionID)
			}
		}
	}
	slices.Sort(out)
	return out
}

// check returns why a backfill of a game session, which is nil if it is hosted elsewhere, can never be
// matched, or nil: it lists more players than the teams or the match ever hold, or players who have
// never been in the game session.
func (s *roster) check(r store.Reader, rs *ruleset.RuleSet, kept int, g *session.GameSession, players []Player) error {
	if g == nil {
		return nil
	}
	if err := life.CheckRoom(rs, kept, players); err != nil {
		return err
	}
	been := map[string]bool{}
	for p := range s.sessions.Players.Of(r, g.ID) {
		been[p.PlayerID] = true
	}
	for _, id := range playersIn(g.Matchmaker) {
		been[id] = true
	}
	for i := range players {
		if !been[players[i].ID] {
			return fault.Invalid("Players.%d.PlayerId: player %s has never been in game session %s; list the players who are in it", i+1, players[i].ID, g.ID)
		}
	}
	return nil
}
