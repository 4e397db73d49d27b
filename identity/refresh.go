package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// A refresh token is rt_FAMILY.GENERATION.MAC. Only the family's generation is stored:
// a token with an older one has been used.

// refreshToken returns the token of a family's current generation.
func (s *Service) refreshToken(f *Family) string {
	body := f.ID + "." + strconv.Itoa(f.Generation)
	return "rt_" + body + "." + base64.RawURLEncoding.EncodeToString(s.refreshMAC(body))
}

func (s *Service) refreshMAC(body string) []byte {
	mac := hmac.New(sha256.New, s.refreshKey)
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

// readRefresh returns the family and generation of a token that we issued.
func (s *Service) readRefresh(token string) (family string, generation int, ok bool) {
	rest, ours := strings.CutPrefix(token, "rt_")
	dot := strings.LastIndexByte(rest, '.')
	if !ours || dot < 0 || len(token) > maxToken {
		return "", 0, false
	}
	body := rest[:dot]
	mac, err := base64.RawURLEncoding.DecodeString(rest[dot+1:])
	if !hmac.Equal(mac, s.refreshMAC(body)) || err != nil {
		return "", 0, false
	}
	family, number, _ := strings.Cut(body, ".")
	generation, err = strconv.Atoi(number)
	return family, generation, err == nil
}

type refreshArgs struct {
	Family     string
	Generation int
}

type refreshed struct {
	Family *Family
	Reused bool // the token was used before: the family has ended
}

// Refresh returns new tokens for a refresh token, which is used up by it. If the same
// token is used again within Options.Grace, the result is the same successor, since an
// answer may be lost; later, or once the successor was used, it has been stolen and the
// family ends. Refusals: RefreshInvalid, RefreshReused, Banned.
func (s *Service) Refresh(ctx context.Context, token string) (*Session, error) {
	family, generation, ok := s.readRefresh(token)
	if !ok {
		return nil, refuse(RefreshInvalid, "the refresh token is not one of ours")
	}
	r, err := s.cmd.refresh.Do(ctx, refreshArgs{family, generation})
	if err != nil {
		return nil, err
	}
	if r.Reused {
		return nil, refuse(RefreshReused, "the refresh token was used before; all tokens that came from its login have ended")
	}
	return s.session(r.Family, false)
}

func (s *Service) runRefresh(tx *store.Tx, a refreshArgs) (refreshed, error) {
	now := tx.Now()
	f := s.t.families.Get(tx, a.Family)
	if f == nil || !f.valid(now) || a.Generation > f.Generation {
		return refreshed{}, refuse(RefreshInvalid, "the refresh token has ended; log in again")
	}
	p := s.account(tx, f.PlayerID)
	switch {
	case p == nil:
		return refreshed{}, refuse(RefreshInvalid, "the account does not exist any more")
	case p.Banned(now):
		return refreshed{}, p.banned()
	case a.Generation == f.Generation-1 && now.Sub(f.Rotated) <= s.opts.Grace:
		return refreshed{Family: f}, nil
	case a.Generation < f.Generation:
		return s.revokeStolen(tx, f), nil
	}
	next := *f
	next.Generation++
	next.Rotated = now
	next.Expires = s.idleEnd(&next, now)
	s.t.families.Put(tx, &next)
	return refreshed{Family: &next}, nil
}

// revokeStolen ends a family, and keeps its row until it would have expired.
func (s *Service) revokeStolen(tx *store.Tx, f *Family) refreshed {
	dead := *f
	dead.Revoked = tx.Now()
	s.t.families.Put(tx, &dead)
	s.events.Append(tx, event.Event{Code: event.PlayerTokenReused, Resource: f.PlayerID, Message: "login by " + f.Method})
	return refreshed{Family: &dead, Reused: true}
}

// idleEnd returns when a family ends unless it is used before.
func (s *Service) idleEnd(f *Family, now time.Time) time.Time {
	idle := s.opts.RefreshIdle
	if f.Method == Guest {
		idle = s.opts.GuestIdle
	}
	if end := now.Add(idle); end.Before(f.Ends) {
		return end
	}
	return f.Ends
}

// newFamily begins a family for a player who has just proven who they are.
func (s *Service) newFamily(tx *store.Tx, playerID, method string) *Family {
	return s.newFamilySince(tx, playerID, method, tx.Now())
}

// newFamilySince begins a family in tx for a login at a time; if the player has too
// many, the oldest ends.
func (s *Service) newFamilySince(tx *store.Tx, playerID, method string, login time.Time) *Family {
	f := &Family{ID: tx.ID(""), PlayerID: playerID, Method: method, Login: login, Ends: tx.Now().Add(s.opts.RefreshLife)}
	f.Expires = s.idleEnd(f, tx.Now())
	count := 1
	for range s.t.familiesOf.Equal(tx, playerID) {
		count++
	}
	for old := range s.t.familiesOf.Equal(tx, playerID) { // by id, so oldest first
		if count <= s.opts.Families {
			break
		}
		s.t.families.Delete(tx, old.ID)
		count--
	}
	s.t.families.Put(tx, f)
	return f
}

// Logout ends the login of a refresh token. A token that we did not issue, or that has
// ended, changes nothing.
func (s *Service) Logout(ctx context.Context, token string) error {
	family, _, ok := s.readRefresh(token)
	if !ok {
		return nil
	}
	_, err := s.cmd.logout.Do(ctx, logoutArgs{Family: family})
	return err
}

// LogoutAccess ends the login of an access token, or all logins of its player.
func (s *Service) LogoutAccess(ctx context.Context, c Claims, everywhere bool) error {
	args := logoutArgs{Family: c.FamilyID}
	if everywhere {
		args = logoutArgs{Player: c.PlayerID}
	}
	_, err := s.cmd.logout.Do(ctx, args)
	return err
}

type logoutArgs struct{ Family, Player string }

func (s *Service) runLogout(tx *store.Tx, a logoutArgs) (struct{}, error) {
	if a.Player == "" {
		s.t.families.Delete(tx, a.Family)
		return struct{}{}, nil
	}
	s.endLogins(tx, a.Player)
	return struct{}{}, nil
}

// endLogins ends every family of a player.
func (s *Service) endLogins(tx *store.Tx, playerID string) {
	for f := range s.t.familiesOf.Equal(tx, playerID) {
		s.t.families.Delete(tx, f.ID)
	}
}
