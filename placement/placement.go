package placement

import (
	"slices"
	"time"

	"github.com/musterhq/muster/session"
)

// MaxIDLength bounds a PlacementId (API reference).
const MaxIDLength = 48

// Placement is the moving part of a placement; what was asked for is in Request.
type Placement struct {
	ID       string    `json:"id"`
	Queue    string    `json:"queue"`
	Status   Status    `json:"status"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Deadline time.Time `json:"deadline"` // when it times out
	Arrival  string    `json:"arrival"`  // sorts by when it came, also within a millisecond

	// The game session that is being, or was, made for it.
	GameSessionID string `json:"game_session_id,omitzero"`
	Location      string `json:"location,omitzero"`
	IPAddress     string `json:"ip_address,omitzero"`
	DNSName       string `json:"dns_name,omitzero"`
	Port          int    `json:"port,omitzero"`

	Placed    []Placed  `json:"placed,omitzero"`
	Attempts  int       `json:"attempts,omitzero"` // game sessions made so far under this id
	Failures  []Failure `json:"failures,omitzero"` // where attempts failed
	Rounds    []Round   `json:"rounds,omitzero"`   // what was decided, for explanation
	RoundAt   time.Time `json:"round_at,omitzero"` // when a round is to be written if it still waits; zero: never
	Reason    string    `json:"reason,omitzero"`   // why it ended without a game session
	ArchiveAt time.Time `json:"archive_at,omitzero"`
}

// Request is what StartGameSessionPlacement asked for. It is written once.
type Request struct {
	ID             string             `json:"id"`
	Name           string             `json:"name,omitzero"`
	Data           string             `json:"data,omitzero"`
	MatchmakerData string             `json:"matchmaker_data,omitzero"`
	MaxPlayers     int                `json:"max_players"`
	Properties     []session.Property `json:"properties,omitzero"`
	Players        []session.Joining  `json:"players,omitzero"` // DesiredPlayerSessions
	Latencies      []Latency          `json:"latencies,omitzero"`
	Override       *Override          `json:"override,omitzero"`
	Summary        []LocationLatency  `json:"summary,omitzero"` // of Latencies, by location
}

// Latency is what one player reported for one location, in milliseconds.
type Latency struct {
	PlayerID string  `json:"p"`
	Location string  `json:"l"`
	Millis   float32 `json:"ms"`
}

// LocationLatency is what a request's players reported for one location.
type LocationLatency struct {
	Location string  `json:"location"`
	Mean     float64 `json:"mean"`
	Max      float32 `json:"max"`
	Slowest  string  `json:"slowest"` // the player with Max
}

// Fallback says what an override does once its locations are full.
type Fallback string

// The fallback strategies of the API.
const (
	AfterSinglePass Fallback = "DEFAULT_AFTER_SINGLE_PASS"
	NoFallback      Fallback = "NONE"
)

// Override replaces the queue's location order for one request.
type Override struct {
	Fallback      Fallback `json:"fallback"`
	LocationOrder []string `json:"location_order"`
}

// Placed is a player session made for a desired player.
type Placed struct {
	PlayerID        string `json:"player_id"`
	PlayerSessionID string `json:"player_session_id"`
}

// Place is somewhere a game session can be placed.
type Place struct {
	FleetID  string `json:"fleet_id"`
	Location string `json:"location"`
}

// Failure counts the attempts of a placement that failed at a place.
type Failure struct {
	Place
	Times int `json:"times"`
}

// Over tells whether the placement has ended.
func (p *Placement) Over() bool { return p.Status != Pending }

// Trying tells whether a game session is being made for the placement.
func (p *Placement) Trying() bool { return p.Status == Pending && p.GameSessionID != "" }

// due is the next time at which the placement needs attention whatever else happens.
func (p *Placement) due() time.Time {
	if p.Over() {
		return p.ArchiveAt
	}
	return p.Deadline
}

// failed counts one more failure at a place.
func (p *Placement) failed(at Place) {
	p.Failures = slices.Clone(p.Failures)
	i := slices.IndexFunc(p.Failures, func(f Failure) bool { return f.Place == at })
	if i < 0 {
		p.Failures, i = append(p.Failures, Failure{Place: at}), len(p.Failures)
	}
	p.Failures[i].Times++
}

// forget takes back what is known of the game session of an attempt.
func (p *Placement) forget() {
	p.GameSessionID, p.Location, p.IPAddress, p.DNSName, p.Port = "", "", "", "", 0
}
