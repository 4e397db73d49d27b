package gameapi

import (
	"encoding/json"
	"time"
)

// The variables of a process that uses the interface.
const (
	URLVariable   = "MUSTER_GAME_URL"
	TokenVariable = "MUSTER_GAME_TOKEN"
)

// The states of a process.
const (
	Starting   = "starting"   // Muster does not know it as ready
	Ready      = "ready"      // it waits for a game session
	Activating = "activating" // it has a game session that players cannot join yet
	Active     = "active"     // players can join
	Ending     = "ending"     // Muster requests its end
	Ended      = "ended"      // it has said that it ends
)

// Status is the answer of GET /session, and of most other calls.
type Status struct {
	Version   uint64     `json:"version"` // grows with each change of the rest
	State     string     `json:"state"`
	Connected bool       `json:"connected"` // to Muster, at this moment; no change of it alone is a new version
	EndBy     *time.Time `json:"end_by"`    // when Muster ends the process by force; null if it does not
	Session   *Session   `json:"session"`   // null before there is one
	Backfill  *Backfill  `json:"backfill"`  // the latest one, or null
}

// Session is the game session of a process.
type Session struct {
	SessionID  string            `json:"session_id"`
	Name       string            `json:"name"`
	Data       string            `json:"data"`
	Properties map[string]string `json:"properties"`
	MaxPlayers int               `json:"max_players"`
	IPAddress  string            `json:"ip_address"`
	DNSName    string            `json:"dns_name"`
	Port       int               `json:"port"`
	Match      json.RawMessage   `json:"match"` // the matchmaker data, or null
}

// The states of a backfill.
const (
	Searching = "searching"
	Completed = "completed"
	Failed    = "failed"
	TimedOut  = "timed_out"
	Canceled  = "canceled"
)

// Backfill is a request for more players.
type Backfill struct {
	TicketID string `json:"ticket_id"`
	State    string `json:"state"`
}

// ReadyRequest is the body of POST /ready.
type ReadyRequest struct {
	Port     *int     `json:"port,omitempty"` // for players; default: GAME_PORT
	LogPaths []string `json:"log_paths,omitempty"`
	// HealthTimeout is after how many seconds without POST /health the process counts as
	// unhealthy; 0: it is healthy while it runs.
	HealthTimeout int `json:"health_timeout_seconds,omitempty"`
}

// SessionChange is the body of PATCH /session.
type SessionChange struct {
	AcceptingPlayers *bool `json:"accepting_players"`
}

// PlayerRequest is the body of POST /players.
type PlayerRequest struct {
	PlayerSessionID string `json:"player_session_id"`
}

// Player is a player session.
type Player struct {
	PlayerSessionID string     `json:"player_session_id"`
	PlayerID        string     `json:"player_id"`
	Data            string     `json:"data"`
	State           string     `json:"state"` // reserved, active, completed, timed_out
	Created         time.Time  `json:"created"`
	Ended           *time.Time `json:"ended"`
}

// Players is the answer of GET /players.
type Players struct {
	Players []Player `json:"players"`
}

// HealthRequest is the body of POST /health.
type HealthRequest struct {
	Healthy *bool `json:"healthy,omitempty"` // default true
}

// BackfillRequest is the body of POST /backfill.
type BackfillRequest struct {
	TicketID      string           `json:"ticket_id,omitempty"`     // default: a new one
	Configuration string           `json:"configuration,omitempty"` // ARN; default: that of the session's match
	Players       []BackfillPlayer `json:"players,omitempty"`       // default: the match's players who are active
}

// BackfillPlayer is a player who is in the game session. The team and the attributes of a
// player of the match may be left out.
type BackfillPlayer struct {
	PlayerID   string                     `json:"player_id"`
	Team       string                     `json:"team,omitempty"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"` // text, number, list of texts, or numbers by name
	LatencyMS  map[string]int             `json:"latency_ms,omitempty"` // by location
}

// Certificate is the answer of GET /certificate.
type Certificate struct {
	Path        string `json:"path"`
	ComputeName string `json:"compute_name"`
}
