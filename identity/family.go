package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Family is the chain of refresh tokens that follow from one login.
type Family struct {
	ID         string    `json:"id"`
	PlayerID   string    `json:"player_id"`
	Method     string    `json:"method"` // guest, or the provider's name
	Login      time.Time `json:"login"`  // when the player last proved who they are
	Generation int       `json:"generation"`
	Rotated    time.Time `json:"rotated,omitzero"` // when this generation began
	Expires    time.Time `json:"expires"`          // unless it is used before
	Ends       time.Time `json:"ends"`             // regardless of use
	Revoked    time.Time `json:"revoked,omitzero"`
}

func (f *Family) valid(now time.Time) bool { return f.Revoked.IsZero() && f.Expires.After(now) }

// families is the table of logins. A refresh token is rt_FAMILY.GENERATION.MAC. Only the
// family's generation is stored: a token with an older one has been used.
type families struct {
	opts    *Options
	key     []byte // of the MACs
	table   *store.Table[Family]
	player  *store.Index[Family] // by player
	expires *store.DueIndex[Family]
}

func newFamilies(st *store.Store, key []byte, opts *Options) *families {
	f := &families{opts: opts, key: key}
	f.table = store.NewTable(st, store.TableSpec[Family]{Name: "player_token", Key: func(f *Family) string { return f.ID }})
	f.player = store.NewIndex(f.table, "player", func(f *Family, emit func(string)) { emit(f.PlayerID) })
	f.expires = store.NewDueIndex(f.table, "expires", func(f *Family) time.Time { return f.Expires })
	return f
}

func (s *families) token(f *Family) string {
	body := f.ID + "." + strconv.Itoa(f.Generation)
	return "rt_" + body + "." + base64.RawURLEncoding.EncodeToString(s.mac(body))
}

func (s *families) mac(body string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

// read returns the family and generation of a refresh token that we issued.
func (s *families) read(token string) (family string, generation int, ok bool) {
	rest, ours := strings.CutPrefix(token, "rt_")
	dot := strings.LastIndexByte(rest, '.')
	if !ours || dot < 0 || len(token) > maxToken {
		return "", 0, false
	}
	body := rest[:dot]
	mac, err := base64.RawURLEncoding.DecodeString(rest[dot+1:])
	if !hmac.Equal(mac, s.mac(body)) || err != nil {
		return "", 0, false
	}
	family, number, _ := strings.Cut(body, ".")
	generation, err = strconv.Atoi(number)
	return family, generation, err == nil
}

// idleEnd returns when a family ends unless it is used before.
func (s *families) idleEnd(f *Family, now time.Time) time.Time {
	idle := s.opts.RefreshIdle
	if f.Method == Guest {
		idle = s.opts.GuestIdle
	}
	if end := now.Add(idle); end.Before(f.Ends) {
		return end
	}
	return f.Ends
}

// begin begins a family for a player who proved at a time who they are; if the player
// has too many, the oldest ends.
func (s *families) begin(tx *store.Tx, playerID, method string, login time.Time) *Family {
	f := &Family{ID: tx.ID(""), PlayerID: playerID, Method: method, Login: login, Ends: tx.Now().Add(s.opts.RefreshLife)}
	f.Expires = s.idleEnd(f, tx.Now())
	count := 1 + s.player.Count(tx, playerID)
	for old := range s.player.Equal(tx, playerID) { // by id, so oldest first
		if count <= s.opts.Families {
			break
		}
		s.table.Delete(tx, old.ID)
		count--
	}
	s.table.Put(tx, f)
	return f
}

func (s *families) rotate(tx *store.Tx, f *Family) *Family {
	next := *f
	next.Generation++
	next.Rotated = tx.Now()
	next.Expires = s.idleEnd(&next, tx.Now())
	s.table.Put(tx, &next)
	return &next
}

// end ends the families of a player, and returns how many there were. With a method it
// ends only those of logins by that method.
func (s *families) end(tx *store.Tx, playerID, method string) (ended int) {
	for f := range s.player.Equal(tx, playerID) {
		if method == "" || f.Method == method {
			s.table.Delete(tx, f.ID)
			ended++
		}
	}
	return ended
}

// lastUse returns when a login of a player was last used, or zero if there is none.
func (s *families) lastUse(r store.Reader, playerID string) (last time.Time) {
	for f := range s.player.Equal(r, playerID) {
		for _, at := range []time.Time{f.Login, f.Rotated} {
			if at.After(last) {
				last = at
			}
		}
	}
	return last
}
