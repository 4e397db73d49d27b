package session

import (
	"fmt"
	"regexp"
	"time"
)

// Target identifies where a game session runs. The first of QueueName, AliasID and
// FleetID that is set is used; the others are not sent.
type Target struct {
	QueueName string // name or ARN of a game session queue
	AliasID   string // id or ARN
	FleetID   string // id or ARN
	Location  string // one of the alias's or fleet's locations; "" is its home region
}

// Kind identifies which member of a Target is used.
type Kind int

// The kinds of target.
const (
	NoTarget Kind = iota
	OnQueue
	OnAlias
	OnFleet
)

// Kind returns which of QueueName, AliasID and FleetID is used.
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

// CreateRequest requests a game session (API reference, CreateGameSession and
// StartGameSessionPlacement).
type CreateRequest struct {
	Target
	Name       string            // at most 1024 bytes
	CreatorID  string            // alias and fleet only; counted against the fleet's creation limit
	Data       string            // for the game server; at most 262144 bytes
	Properties map[string]string // at most 16; keys to 32 bytes, values to 96
	MaxPlayers int               // slots; with 0 nobody can join until it is raised

	// IdempotencyToken, alias and fleet only, makes a repeated request return the session
	// that the first one created: at most 48 of a-z A-Z 0-9 and "-".
	IdempotencyToken string

	// The members below are for queues only.

	// PlacementID names the placement: at most 48 of a-z A-Z 0-9 and "-", unique in the
	// region; "" generates a UUID. Repeating a request with the same id, after its answer
	// was lost, starts no second placement.
	PlacementID string
	// Players get a player session reserved in the new game session; at most MaxPlayers.
	Players []NewPlayer
	// Latency is each player's round-trip time to each location or region, by player id.
	// Locations without a figure for a player are that player's last choice.
	Latency map[string]map[string]time.Duration
	// LocationOrder overrides the queue's order of locations for this request. It cannot
	// be combined with Latency.
	LocationOrder []string
	// NoFallback restricts the placement to LocationOrder; otherwise the queue's other
	// locations are tried after it.
	NoFallback bool
}

// NewPlayer is a player to reserve a slot for.
type NewPlayer struct {
	PlayerID string // 1 to 1024 bytes
	Data     string // for the game server; at most 2048 bytes
}

// Created is the result of Create: the Session, if it was created on an alias or fleet,
// or the PlacementID, if a queue is placing it.
type Created struct {
	Session     *Info
	PlacementID string
}

// PlacementStatus is the status of a placement, as the API spells it (API reference,
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

// Ended reports whether the status is final.
func (s PlacementStatus) Ended() bool { return s != PlacementPending && s != "" }

// Placement is a placement and its result.
type Placement struct {
	ID          string
	Status      PlacementStatus
	SessionID   string // game session ARN, when FULFILLED
	Region      string
	IPAddress   string
	DNSName     string
	Port        uint16
	Connections map[string]Connection // of the requested players, by player id
}

var identifier = regexp.MustCompile(`^[a-zA-Z0-9-]{1,48}$`)

// Validate checks what can be checked without calling the service. Its errors are
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
