package identity

import (
	"time"
)

// Player is an account.
type Player struct {
	ID           string    `json:"id"` // UUID version 7; the PlayerId of the GameLift API
	DisplayName  string    `json:"display_name,omitzero"`
	Created      time.Time `json:"created"`
	GuestSecret  []byte    `json:"guest_secret,omitzero"` // SHA-256; empty where there is no guest login
	TokenVersion int       `json:"token_version,omitzero"`
	BannedUntil  time.Time `json:"banned_until,omitzero"`
	BanReason    string    `json:"ban_reason,omitzero"`
	MergedInto   string    `json:"merged_into,omitzero"`  // the player who was kept; this one is over
	Purge        time.Time `json:"purge,omitzero"`        // of who was merged: when row and data go
	DataDeleted  int64     `json:"data_deleted,omitzero"` // the highest version of data that was deleted
	IdleCheck    time.Time `json:"idle_check,omitzero"`   // of who has a guest login: when to see whether anybody still uses the account
}

// Banned tells whether the player may not log in at a time.
func (p *Player) Banned(now time.Time) bool { return p.BannedUntil.After(now) }

// Link is an account elsewhere that leads to a player.
type Link struct {
	Provider  string    `json:"provider"`
	Subject   string    `json:"subject"` // the account's name at the provider
	PlayerID  string    `json:"player_id"`
	Linked    time.Time `json:"linked"`
	LastLogin time.Time `json:"last_login"`
}

func (l *Link) key() string { return linkKey(l.Provider, l.Subject) }

func linkKey(provider, subject string) string { return provider + "|" + subject }

// SubjectHint shows enough of the subject for its owner to know it by.
func (l *Link) SubjectHint() string {
	if n := len(l.Subject); n > 4 {
		return "…" + l.Subject[n-4:]
	}
	return "…"
}

// Family is the refresh tokens that follow from one login.
type Family struct {
	ID         string    `json:"id"`
	PlayerID   string    `json:"player_id"`
	Method     string    `json:"method"` // guest, or the provider's name
	Login      time.Time `json:"login"`  // when the player last proved who they are
	Generation int       `json:"generation"`
	Rotated    time.Time `json:"rotated,omitzero"` // when this generation began
	Expires    time.Time `json:"expires"`          // unless it is used before
	Ends       time.Time `json:"ends"`             // however often it is used
	Revoked    time.Time `json:"revoked,omitzero"`
}

func (f *Family) valid(now time.Time) bool { return f.Revoked.IsZero() && f.Expires.After(now) }

// Scopes of access tokens: exactly one stands in a token.
const (
	ScopeGuest         = "guest"
	ScopeAuthenticated = "authenticated"
)

// Guest is the method of a login with a guest secret.
const Guest = "guest"
