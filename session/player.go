package session

import "time"

// PlayerSession is one slot of a game session, reserved or used by a player.
type PlayerSession struct {
	ID            string       `json:"id"`
	GameSessionID string       `json:"game_session_id"`
	FleetID       string       `json:"fleet_id"`
	PlayerID      string       `json:"player_id"`
	Data          string       `json:"data,omitzero"`
	Status        PlayerStatus `json:"status"`
	Created       time.Time    `json:"created"`
	Ended         time.Time    `json:"ended,omitzero"`
	IPAddress     string       `json:"ip_address,omitzero"`
	DNSName       string       `json:"dns_name,omitzero"`
	Port          int          `json:"port"`
	ReservedUntil time.Time    `json:"reserved_until"`
	ArchiveAt     time.Time    `json:"archive_at,omitzero"`
}

// due returns when the reservation times out or, once ended, the player session is
// archived, or zero.
func (p *PlayerSession) due() time.Time {
	switch p.Status {
	case Reserved:
		return p.ReservedUntil
	case Completed, TimedOut:
		return p.ArchiveAt
	}
	return time.Time{}
}
