package placement

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// DefaultTimeout is the timeout of a queue that sets none (choice: AWS publishes none).
const DefaultTimeout = 600 * time.Second

// Bounds of an explicit timeout (API reference, GameSessionQueue).
const minTimeout, maxTimeout = 10 * time.Second, 600 * time.Second

// Queue is a GameSessionQueue: where game sessions may be placed, and in what order.
type Queue struct {
	Name             string          `json:"name"`
	Timeout          time.Duration   `json:"timeout"`               // as requested; 0 means DefaultTimeout
	Destinations     []string        `json:"destinations,omitzero"` // ARNs of fleets and aliases
	Policies         []LatencyPolicy `json:"policies,omitzero"`
	AllowedLocations []string        `json:"allowed_locations,omitzero"` // empty = all
	Priority         []Criterion     `json:"priority,omitzero"`
	LocationOrder    []string        `json:"location_order,omitzero"`
	EventData        string          `json:"event_data,omitzero"`
	Target           string          `json:"target,omitzero"` // NotificationTarget
	Created          time.Time       `json:"created"`
}

// LatencyPolicy caps each player's latency for some time (PlayerLatencyPolicy).
type LatencyPolicy struct {
	Max      int           `json:"max"`               // milliseconds
	Duration time.Duration `json:"duration,omitzero"` // zero means until the timeout
}

// Criterion is a criterion by which candidates are ordered (PriorityType).
type Criterion string

// The priority types of the API.
const (
	ByLatency     Criterion = "LATENCY"
	ByCost        Criterion = "COST"
	ByDestination Criterion = "DESTINATION"
	ByLocation    Criterion = "LOCATION"
)

// Orders for a queue that sets none, with and without latencies in the request (API
// reference, PriorityConfiguration and StartGameSessionPlacement).
var (
	defaultOrder   = []Criterion{ByLatency, ByCost, ByDestination, ByLocation}
	noLatencyOrder = []Criterion{ByDestination, ByLocation}
)

// timeout returns how long the queue tries to place a game session.
func (q *Queue) timeout() time.Duration {
	if q.Timeout == 0 {
		return DefaultTimeout
	}
	return q.Timeout
}

// criteria returns the order that applies to a request: the queue's own, followed by the
// types that it omits, or the default.
func (q *Queue) criteria(hasLatency bool) []Criterion {
	if len(q.Priority) == 0 {
		if hasLatency {
			return defaultOrder
		}
		return noLatencyOrder
	}
	order := slices.Clone(q.Priority)
	for _, c := range defaultOrder {
		if !slices.Contains(order, c) {
			order = append(order, c)
		}
	}
	return order
}

// allows reports whether the queue's filter allows a location.
func (q *Queue) allows(location string) bool {
	return len(q.AllowedLocations) == 0 || slices.Contains(q.AllowedLocations, location)
}

// validate checks the rules that span several members.
func (q *Queue) validate() error {
	if q.Timeout != 0 && (q.Timeout < minTimeout || q.Timeout > maxTimeout) {
		return fault.Invalid("TimeoutInSeconds: must be from %d to %d, or 0 for the default of %d",
			int(minTimeout/time.Second), int(maxTimeout/time.Second), int(DefaultTimeout/time.Second))
	}
	if i := repeated(q.Priority); i >= 0 {
		return fault.Invalid("PriorityConfiguration.PriorityOrder.%d: %s is listed twice", i+1, q.Priority[i])
	}
	if i := repeated(q.LocationOrder); i >= 0 {
		return fault.Invalid("PriorityConfiguration.LocationOrder.%d: %s is listed twice", i+1, q.LocationOrder[i])
	}
	if i := repeated(q.AllowedLocations); i >= 0 {
		return fault.Invalid("FilterConfiguration.AllowedLocations.%d: %s is listed twice", i+1, q.AllowedLocations[i])
	}
	for i, p := range q.Policies {
		if p.Max <= 0 {
			return fault.Invalid("PlayerLatencyPolicies.%d.MaximumIndividualPlayerLatencyMilliseconds: required, and above 0", i+1)
		}
	}
	return nil
}

// repeated returns the index of the first value that also occurs earlier, or -1.
func repeated[T comparable](values []T) int {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return i
		}
	}
	return -1
}
