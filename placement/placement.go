package placement

import (
	"slices"
	"time"

	"github.com/musterhq/muster/session"
)

// MaxIDLength is the greatest length of a PlacementId (API reference).
const MaxIDLength = 48

// Placement is the part of a placement that changes. What was requested is in Request.
type Placement struct {
	ID       string    `json:"id"`
	Queue    string    `json:"queue"`
	Status   Status    `json:"status"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Deadline time.Time `json:"deadline"` // when it times out
	Arrival  string    `json:"arrival"`  // sorts by time of arrival, also within a millisecond

	Attempt string `json:"attempt,omitzero"` // the token of its attempt at a remote

	// The game session that is being, or was, created for it. Its address and port are set once the
	// placement is FULFILLED, as of then.
	GameSessionID string `json:"game_session_id,omitzero"`
	Location      string `json:"location,omitzero"`
	IPAddress     string `json:"ip_address,omitzero"`
	DNSName       string `json:"dns_name,omitzero"`
	Port          int    `json:"port,omitzero"`

	Placed    []Placed  `json:"placed,omitzero"`
	Attempts  int       `json:"attempts,omitzero"` // game sessions created so far under this id
	Failures  []Failure `json:"failures,omitzero"` // where attempts failed
	Rounds    []Round   `json:"rounds,omitzero"`   // decisions, for Explain
	RoundAt   time.Time `json:"round_at,omitzero"` // when a round is to be recorded if it still waits; zero means never
	Reason    string    `json:"reason,omitzero"`   // why it ended without a game session
	ArchiveAt time.Time `json:"archive_at,omitzero"`
}

// Request is the request of StartGameSessionPlacement. It is written once.
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

// Latency is a player's reported latency to a location, in milliseconds.
type Latency struct {
	PlayerID string  `json:"p"`
	Location string  `json:"l"`
	Millis   float32 `json:"ms"`
}

// LocationLatency summarizes the latencies of a request's players to a location.
type LocationLatency struct {
	Location string  `json:"location"`
	Mean     float64 `json:"mean"`
	Max      float32 `json:"max"`
	Slowest  string  `json:"slowest"` // the player with Max
}

// Fallback says what happens when the locations of an override are full.
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

// Placed is a player session created for a desired player.
type Placed struct {
	PlayerID        string `json:"player_id"`
	PlayerSessionID string `json:"player_session_id"`
}

// Place is somewhere a game session can be placed.
type Place struct {
	FleetID  string `json:"fleet_id"`
	Location string `json:"location"`
	Remote   string `json:"remote,omitzero"` // the name of the remote that has the fleet
}

func (at Place) String() string {
	text := at.FleetID + " in " + at.Location
	if at.Remote != "" {
		text += " at " + called(at.Remote)
	}
	return text
}

// Failure counts the attempts of a placement that failed at a place.
type Failure struct {
	Place
	Times int `json:"times"`

	// Until is until when this placement does not use the place, whose remote refused it;
	// zero if it may. Why is the refusal.
	Until time.Time `json:"until,omitzero"`
	Why   string    `json:"why,omitzero"`
}

// Over reports whether the placement has ended.
func (p *Placement) Over() bool { return p.Status != Pending }

// Trying reports whether a game session is being created for the placement.
func (p *Placement) Trying() bool { return p.Status == Pending && p.GameSessionID != "" }

// Away reports whether a game session is being created for the placement at a remote.
func (p *Placement) Away() bool { return p.Status == Pending && p.Attempt != "" }

// Waits reports whether the placement waits for a place.
func (p *Placement) Waits() bool { return p.Status == Pending && !p.Trying() && !p.Away() }

// due returns when the placement must be timed out or, once ended, archived.
func (p *Placement) due() time.Time {
	if p.Over() {
		return p.ArchiveAt
	}
	return p.Deadline
}

// failed counts a failure at a place.
func (p *Placement) failed(at Place) {
	p.Failures = slices.Clone(p.Failures)
	i := slices.IndexFunc(p.Failures, func(f Failure) bool { return f.Place == at })
	if i < 0 {
		p.Failures, i = append(p.Failures, Failure{Place: at}), len(p.Failures)
	}
	p.Failures[i].Times++
}

// shun excludes a place, which failed now, from this placement for a while: the same request
// would be refused again.
func (p *Placement) shun(at Place, why string, now time.Time) {
	i := slices.IndexFunc(p.Failures, func(f Failure) bool { return f.Place == at })
	f := &p.Failures[i]
	f.Why, f.Until = why, now.Add(backoff(firstShunned, longestShunned, f.Times-1))
}

// How long a place that refused a placement is excluded from it: after the first refusal, and
// at most.
const firstShunned, longestShunned = time.Second, time.Minute

// forget clears what belongs to the attempt that is over.
func (p *Placement) forget() {
	p.Attempt, p.GameSessionID, p.Location, p.IPAddress, p.DNSName, p.Port = "", "", "", "", "", 0
}
