package identity

import (
	"time"
)

// Player is an account.
type Player struct {
	ID           string    `json:"id"` // UUID version 7; the PlayerId of the GameLift API
	DisplayName  string    `json:"display_name,omitzero"`
	Created      time.Time `json:"created"`
	GuestSecret  []byte    `json:"guest_secret,omitzero"` // SHA-256; empty if there is no guest login
	TokenVersion int       `json:"token_version,omitzero"`
	BannedUntil  time.Time `json:"banned_until,omitzero"`
	BanReason    string    `json:"ban_reason,omitzero"`
	MergedInto   string    `json:"merged_into,omitzero"`  // the player who was kept; this one has ended
	Purge        time.Time `json:"purge,omitzero"`        // of a merged player: when row and data are removed
	DataDeleted  int64     `json:"data_deleted,omitzero"` // the highest version of deleted data
	IdleCheck    time.Time `json:"idle_check,omitzero"`   // of a player with a guest login: when to check whether the account is still used
}

// Banned reports whether the player may not log in at a time.
func (p *Player) Banned(now time.Time) bool { return p.BannedUntil.After(now) }

// Link is an external account that is linked to a player.
type Link struct {
	Provider  string    `json:"provider"`
	Subject   string    `json:"subject"` // the account's name at the provider
	PlayerID  string    `json:"player_id"`
	Linked    time.Time `json:"linked"`
	LastLogin time.Time `json:"last_login"`
}

func (l *Link) key() string { return linkKey(l.Provider, l.Subject) }

func linkKey(provider, subject string) string { return provider + "|" + subject }

// SubjectHint returns enough of the subject for its owner to recognize it.
func (l *Link) SubjectHint() string {
	if n := len(l.Subject); n > 4 {
		return "…" + l.Subject[n-4:]
	}
	return "…"
}

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

// Scopes of access tokens: a token has exactly one.
const (
	ScopeGuest         = "guest"
	ScopeAuthenticated = "authenticated"
)

// Guest is the method of a login with a guest secret.
const Guest = "guest"
