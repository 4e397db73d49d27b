package fleetiq

import "time"

// How long claims and the health of game servers last.
const (
	// ClaimTime is how long a game server stays claimed unless it becomes UTILIZED (API
	// reference, ClaimGameServer).
	ClaimTime = time.Minute
	// HealthTime is after how long without a report of its health a game server is
	// deregistered. AWS publishes none, and advises to report every 60 seconds.
	HealthTime = 3 * time.Minute
)

// GameServer is a registered game server.
type GameServer struct {
	ID              string      `json:"id"`
	Group           string      `json:"group"`
	InstanceID      string      `json:"instance_id"`
	Connection      string      `json:"connection,omitzero"` // ConnectionInfo
	Data            string      `json:"data,omitzero"`
	Utilization     Utilization `json:"utilization"`
	Registered      time.Time   `json:"registered"`
	Sequence        string      `json:"sequence"` // a UUID that sorts in order of registration
	LastHealthCheck time.Time   `json:"last_health_check"`
	LastClaim       time.Time   `json:"last_claim,omitzero"`
	ClaimedUntil    time.Time   `json:"claimed_until,omitzero"` // zero if it is not claimed
	Doubt           bool        `json:"doubt,omitzero"`         // the database may have lost that it is used
}

// IsClaimed reports whether the game server is claimed.
func (v *GameServer) IsClaimed(now time.Time) bool { return now.Before(v.ClaimedUntil) }

// busy reports whether the game server is claimed or utilized, or may be.
func (v *GameServer) busy() bool {
	return v.Utilization == Utilized || !v.ClaimedUntil.IsZero() || v.Doubt
}
