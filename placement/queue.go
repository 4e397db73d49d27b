package placement

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
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
func (q *Queue) timeout() time.Duration { return cmp.Or(q.Timeout, DefaultTimeout) }

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

// Queues are the queues of a cell.
type Queues struct {
	// Create creates a queue. Errors: InvalidRequest (name taken, rules), NotFound
	// (destination), LimitExceeded, TaggingFailed.
	Create *store.Command[QueueInput, *Queue]
	// Update changes a queue. Waiting placements are placed by the new rules. Errors:
	// NotFound, InvalidRequest.
	Update *store.Command[QueueUpdate, *Queue]
	// Delete removes a queue, by name or ARN. Its pending placements fail. Errors:
	// NotFound.
	Delete *store.Action[string]

	table   *store.Table[Queue]
	quota   int // 0 means unlimited
	events  *event.Log
	tags    *tag.Service
	fleets  *fleet.Service
	remotes Remotes
	changed func()                  // after a commit
	deleted func(*store.Tx, *Queue) // in the transaction
}

func newQueues(st *store.Store, table *store.Table[Queue], d Deps, opts Options, changed func(), deleted func(*store.Tx, *Queue)) *Queues {
	qs := &Queues{
		table: table, quota: opts.Queues, events: d.Events, tags: d.Tags, fleets: d.Fleets, remotes: opts.Remotes, changed: changed, deleted: deleted,
	}
	qs.Create = store.NewCommand(st, "queue.create", qs.runCreate)
	qs.Update = store.NewCommand(st, "queue.update", qs.runUpdate)
	qs.Delete = store.NewAction(st, "queue.delete", qs.runDelete)
	qs.tags.Kind("gamesessionqueue", func(r store.Reader, a string) bool { return qs.Get(r, a) != nil })
	return qs
}

// ARN returns the ARN of a queue.
func (qs *Queues) ARN(name string) string { return qs.fleets.Home().Of("gamesessionqueue", name) }

// Get returns a queue by name or ARN, or nil.
func (qs *Queues) Get(r store.Reader, nameOrARN string) *Queue {
	return qs.table.Get(r, qs.fleets.Home().ID("gamesessionqueue", nameOrARN))
}

// Find returns a queue by name or ARN. Errors: NotFound.
func (qs *Queues) Find(r store.Reader, nameOrARN string) (*Queue, error) {
	if q := qs.Get(r, nameOrARN); q != nil {
		return q, nil
	}
	return nil, fault.Missing("game session queue %s does not exist", nameOrARN)
}

// After returns an iterator over the queues after a name, in order of names.
func (qs *Queues) After(r store.Reader, after string) iter.Seq[*Queue] {
	return qs.table.After(r, after)
}

// QueueInput describes the queue to create.
type QueueInput struct {
	Queue Queue
	Tags  map[string]string
	Elsewhere
}

// QueueUpdate patches a queue: nil members leave the value unchanged; lists are replaced
// as a whole.
type QueueUpdate struct {
	Name             string // or ARN
	Timeout          *time.Duration
	Destinations     *[]string
	Policies         *[]LatencyPolicy
	AllowedLocations *[]string
	Priority         *[]Criterion
	LocationOrder    *[]string
	EventData        *string
	Target           *string
	Elsewhere
}

func (qs *Queues) runCreate(tx *store.Tx, in QueueInput) (*Queue, error) {
	q := in.Queue
	if qs.table.Get(tx, q.Name) != nil {
		return nil, fault.Invalid("Name: game session queue %s exists already", q.Name)
	}
	if n := qs.table.Len(tx); qs.quota > 0 && n >= qs.quota {
		return nil, fault.New(fault.LimitExceeded, "there are %d game session queues, which is the quota", n)
	}
	q.Created = tx.Now()
	if err := qs.checkDestinations(tx, q.Destinations, in.Elsewhere); err != nil {
		return nil, err
	}
	if err := q.validate(); err != nil {
		return nil, err
	}
	if err := qs.tags.Put(tx, qs.ARN(q.Name), in.Tags); err != nil {
		return nil, err
	}
	qs.table.Put(tx, &q)
	qs.events.Append(tx, event.Event{Code: event.QueueCreated, Resource: qs.ARN(q.Name)})
	return &q, nil
}

// Elsewhere is what commands take as their word about destinations that are not of this region,
// since remotes are not part of the state (Queues.Elsewhere).
type Elsewhere struct {
	AtRemotes []string // belong to a remote
	Missing   []string // of those: do not exist, as another region of the deployment has said
}

// checkDestinations checks that each destination exists, or is one of those at remotes.
func (qs *Queues) checkDestinations(r store.Reader, destinations []string, away Elsewhere) error {
	if i := repeated(destinations); i >= 0 {
		return fault.Invalid("Destinations.%d.DestinationArn: %s is listed twice", i+1, destinations[i])
	}
	for i, d := range destinations {
		switch {
		case (arn.IsFleet(d) || arn.Kind(d) == "alias") && qs.foreign(d):
			if slices.Contains(away.Missing, d) {
				return fault.Missing("Destinations.%d.DestinationArn: %s %s does not exist in %s", i+1, arn.Kind(d), d, ownerOf(d))
			}
			if !slices.Contains(away.AtRemotes, d) {
				return fault.Missing("Destinations.%d.DestinationArn: %s %s does not exist here: it belongs to %s, and --remotes names no deployment for that, or several (docs/placement.md)",
					i+1, arn.Kind(d), d, ownerOf(d))
			}
		case arn.IsFleet(d):
			if qs.fleets.Get(r, d) == nil {
				return fault.Missing("Destinations.%d.DestinationArn: fleet %s does not exist", i+1, d)
			}
		case arn.Kind(d) == "alias":
			if _, err := qs.fleets.Aliases.Find(r, d); err != nil {
				return fault.Missing("Destinations.%d.DestinationArn: alias %s does not exist", i+1, d)
			}
		default:
			return fault.Invalid("Destinations.%d.DestinationArn: %s is not the ARN of a fleet or an alias", i+1, d)
		}
	}
	return nil
}

func (qs *Queues) runUpdate(tx *store.Tx, in QueueUpdate) (*Queue, error) {
	old, err := qs.Find(tx, in.Name)
	if err != nil {
		return nil, err
	}
	q := *old
	patch.Set(&q.Timeout, in.Timeout)
	patch.Set(&q.Destinations, in.Destinations)
	patch.Set(&q.Policies, in.Policies)
	patch.Set(&q.AllowedLocations, in.AllowedLocations)
	patch.Set(&q.Priority, in.Priority)
	patch.Set(&q.LocationOrder, in.LocationOrder)
	patch.Set(&q.EventData, in.EventData)
	patch.Set(&q.Target, in.Target)
	if in.Destinations != nil { // even a destination that was there before may have been deleted
		if err := qs.checkDestinations(tx, q.Destinations, in.Elsewhere); err != nil {
			return nil, err
		}
	}
	if err := q.validate(); err != nil {
		return nil, err
	}
	qs.table.Put(tx, &q)
	qs.events.Append(tx, event.Event{Code: event.QueueUpdated, Resource: qs.ARN(q.Name)})
	tx.OnCommit(qs.changed)
	return &q, nil
}

func (qs *Queues) runDelete(tx *store.Tx, nameOrARN string) error {
	q, err := qs.Find(tx, nameOrARN)
	if err != nil {
		return err
	}
	qs.deleted(tx, q)
	qs.table.Delete(tx, q.Name)
	qs.tags.Drop(tx, qs.ARN(q.Name))
	qs.events.Append(tx, event.Event{Code: event.QueueDeleted, Resource: qs.ARN(q.Name)})
	return nil
}
