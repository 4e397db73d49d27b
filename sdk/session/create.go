package session

import (
	"fmt"
	"regexp"
	"time"
)

// Target says where a game session is to be. The first of QueueName, AliasID and
// FleetID that is set counts, the others are not sent.
type Target struct {
	QueueName string // name or ARN of a game session queue
	AliasID   string // id or ARN
	FleetID   string // id or ARN
	Location  string // of the alias' or fleet's locations; "" is its home region
}

// Kind is which of the three a target names.
type Kind int

// The kinds of target.
const (
	NoTarget Kind = iota
	OnQueue
	OnAlias
	OnFleet
)

// Kind gives what counts of the target.
func (t Target) Kind() Kind {
	switch {
	case t.QueueName != "":
		return OnQueue
	case t.AliasID != "":
		return OnAlias
	case t.FleetID != "":
		return OnFleet
	}
	return NoTarget
}

// CreateRequest asks for a game session (API reference, CreateGameSession and
// StartGameSessionPlacement).
type CreateRequest struct {
	Target
	Name       string            // at most 1024 bytes
	CreatorID  string            // alias and fleet only; counted against the fleet's creation limit
	Data       string            // for the game server; at most 262144 bytes
	Properties map[string]string // at most 16; keys to 32 bytes, values to 96
	MaxPlayers int               // slots; 0 is allowed: nobody can join until it is raised

	// IdempotencyToken, alias and fleet only, makes a repetition give the session
	// that the first request made: at most 48 of a-z A-Z 0-9 and "-".
	IdempotencyToken string

	// The rest is for queues only.

	// PlacementID names the placement: at most 48 of a-z A-Z 0-9 and "-", unique
	// in the region. "" makes a UUID. The same id again after an answer was lost
	// starts no second placement.
	PlacementID string
	// Players get a reservation with the session. They are at most MaxPlayers.
	Players []NewPlayer
	// Latency is each player's round trip to each location or region, by player id.
	// Locations that a player does not report are the last choice for it.
	Latency map[string]map[string]time.Duration
	// LocationOrder overrides the queue's order of locations for this request. It
	// does not go together with Latency.
	LocationOrder []string
	// NoFallback keeps the placement to LocationOrder, instead of going on with the
	// queue's other locations.
	NoFallback bool
}

// NewPlayer is a player to reserve a place for.
type NewPlayer struct {
	PlayerID string // 1 to 1024 bytes
	Data     string // for the game server; at most 2048 bytes
}

// Created is what Create gave: the Session where it was made on an alias or
// fleet, the PlacementID where a queue is looking for one.
type Created struct {
	Session     *Info
	PlacementID string
}

// PlacementStatus is where a placement is, as the API spells it (API reference,
// GameSessionPlacement).
type PlacementStatus string

// The statuses of a placement.
const (
	PlacementPending   PlacementStatus = "PENDING"
	PlacementFulfilled PlacementStatus = "FULFILLED"
	PlacementCancelled PlacementStatus = "CANCELLED"
	PlacementTimedOut  PlacementStatus = "TIMED_OUT"
	PlacementFailed    PlacementStatus = "FAILED"
)

// Ended tells whether the status is final.
func (s PlacementStatus) Ended() bool { return s != PlacementPending && s != "" }

// Placement is what became of a placement.
type Placement struct {
	ID          string
	Status      PlacementStatus
	SessionID   string // game session ARN, when FULFILLED
	Region      string
	IPAddress   string
	DNSName     string
	Port        uint16
	Connections map[string]Connection // of the request's players, by player id
}

var identifier = regexp.MustCompile(`^[a-zA-Z0-9-]{1,48}$`)

// Validate checks what can be checked without the service; its errors are
// ErrInvalid and name the field.
func (r CreateRequest) Validate() error {
	queue := r.Kind() == OnQueue
	switch {
	case r.Kind() == NoTarget:
		return invalid("Target: one of QueueName, AliasID and FleetID is required")
	case r.MaxPlayers < 0:
		return invalid("MaxPlayers is %d; it must be at least 0", r.MaxPlayers)
	case len(r.Name) > 1024:
		return invalid("Name has %d bytes; at most 1024 are allowed", len(r.Name))
	case len(r.Data) > 262144:
		return invalid("Data has %d bytes; at most 262144 are allowed", len(r.Data))
	case r.IdempotencyToken != "" && (queue || !identifier.MatchString(r.IdempotencyToken)):
		return invalid("IdempotencyToken must have 1 to 48 of a-z, A-Z, 0-9 and \"-\", and goes with an alias or a fleet")
	case r.PlacementID != "" && (!queue || !identifier.MatchString(r.PlacementID)):
		return invalid("PlacementID must have 1 to 48 of a-z, A-Z, 0-9 and \"-\", and goes with a queue")
	case !queue && (len(r.Players) > 0 || len(r.Latency) > 0 || len(r.LocationOrder) > 0 || r.NoFallback):
		return invalid("Players, Latency, LocationOrder and NoFallback go with a queue")
	case queue && r.CreatorID != "":
		return invalid("CreatorID goes with an alias or a fleet")
	case len(r.Players) > r.MaxPlayers:
		return invalid("Players has %d entries; MaxPlayers is %d", len(r.Players), r.MaxPlayers)
	case len(r.Latency) > 0 && len(r.LocationOrder) > 0:
		return invalid("LocationOrder does not go together with Latency")
	case r.NoFallback && len(r.LocationOrder) == 0:
		return invalid("NoFallback needs a LocationOrder")
	}
	return r.validateParts()
}

func (r CreateRequest) validateParts() error {
	if len(r.Properties) > 16 {
		return invalid("Properties has %d entries; at most 16 are allowed", len(r.Properties))
	}
	for key, value := range r.Properties {
		if key == "" || len(key) > 32 || len(value) > 96 {
			return invalid("Properties[%q]: a key has 1 to 32 bytes, a value at most 96", key)
		}
	}
	for i, p := range r.Players {
		if err := validatePlayer(fmt.Sprintf("Players[%d]", i), p.PlayerID, p.Data); err != nil {
			return err
		}
	}
	return nil
}

func validatePlayer(field, id, data string) error {
	switch {
	case id == "" || len(id) > 1024:
		return invalid("%s: a player id has 1 to 1024 bytes", field)
	case len(data) > 2048:
		return invalid("%s: player data has %d bytes; at most 2048 are allowed", field, len(data))
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
