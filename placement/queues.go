package placement

import (
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// QueueInput describes the queue to create.
type QueueInput struct {
	Queue Queue
	Tags  map[string]string
}

// CreateQueue creates a queue. Errors: InvalidRequest (name taken, rules), NotFound
// (destination), LimitExceeded, TaggingFailed.
func (s *Service) CreateQueue(ctx context.Context, in QueueInput) (*Queue, error) {
	return s.cmd.createQueue.Do(ctx, in)
}

func (s *Service) runCreateQueue(tx *store.Tx, in QueueInput) (*Queue, error) {
	q := in.Queue
	if s.t.queues.Get(tx, q.Name) != nil {
		return nil, fault.Invalid("Name: game session queue %s exists already", q.Name)
	}
	if n := s.t.queues.Len(tx); s.opts.Queues > 0 && n >= s.opts.Queues {
		return nil, fault.New(fault.LimitExceeded, "there are %d game session queues, which is the quota", n)
	}
	q.Created = tx.Now()
	if err := s.checkDestinations(tx, q.Destinations); err != nil {
		return nil, err
	}
	if err := q.validate(); err != nil {
		return nil, err
	}
	if err := s.tags.Put(tx, s.QueueARN(q.Name), in.Tags); err != nil {
		return nil, err
	}
	s.t.queues.Put(tx, &q)
	s.events.Append(tx, event.Event{Code: event.QueueCreated, Resource: s.QueueARN(q.Name)})
	return &q, nil
}

func (s *Service) checkDestinations(r store.Reader, destinations []string) error {
	if i := repeated(destinations); i >= 0 {
		return fault.Invalid("Destinations.%d.DestinationArn: %s is listed twice", i+1, destinations[i])
	}
	for i, d := range destinations {
		switch arn.Kind(d) {
		case "fleet":
			if s.fleets.Get(r, d) == nil {
				return fault.Missing("Destinations.%d.DestinationArn: fleet %s does not exist", i+1, d)
			}
		case "alias":
			if _, err := s.fleets.Aliases.Find(r, d); err != nil {
				return fault.Missing("Destinations.%d.DestinationArn: alias %s does not exist", i+1, d)
			}
		default:
			return fault.Invalid("Destinations.%d.DestinationArn: %s is not the ARN of a fleet or an alias", i+1, d)
		}
	}
	return nil
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
}

// UpdateQueue changes a queue. Waiting placements are placed by the new rules.
// Errors: NotFound, InvalidRequest.
func (s *Service) UpdateQueue(ctx context.Context, in QueueUpdate) (*Queue, error) {
	return s.cmd.updateQueue.Do(ctx, in)
}

func (s *Service) runUpdateQueue(tx *store.Tx, in QueueUpdate) (*Queue, error) {
	old, err := s.findQueue(tx, in.Name)
	if err != nil {
		return nil, err
	}
	q := *old
	set(&q.Timeout, in.Timeout)
	set(&q.Destinations, in.Destinations)
	set(&q.Policies, in.Policies)
	set(&q.AllowedLocations, in.AllowedLocations)
	set(&q.Priority, in.Priority)
	set(&q.LocationOrder, in.LocationOrder)
	set(&q.EventData, in.EventData)
	set(&q.Target, in.Target)
	if in.Destinations != nil { // even a destination that was there before may have been deleted
		if err := s.checkDestinations(tx, q.Destinations); err != nil {
			return nil, err
		}
	}
	if err := q.validate(); err != nil {
		return nil, err
	}
	s.t.queues.Put(tx, &q)
	s.events.Append(tx, event.Event{Code: event.QueueUpdated, Resource: s.QueueARN(q.Name)})
	tx.OnCommit(s.Nudge)
	return &q, nil
}

// DeleteQueue removes a queue. Its pending placements fail. Errors: NotFound.
func (s *Service) DeleteQueue(ctx context.Context, nameOrARN string) error {
	_, err := s.cmd.deleteQueue.Do(ctx, nameOrARN)
	return err
}

func (s *Service) runDeleteQueue(tx *store.Tx, nameOrARN string) (struct{}, error) {
	q, err := s.findQueue(tx, nameOrARN)
	if err != nil {
		return struct{}{}, err
	}
	for p := range s.t.pending.Equal(tx, store.Key(q.Name)) {
		s.finish(tx, p, Failed, "the queue was deleted")
	}
	s.t.queues.Delete(tx, q.Name)
	s.tags.Drop(tx, s.QueueARN(q.Name))
	s.events.Append(tx, event.Event{Code: event.QueueDeleted, Resource: s.QueueARN(q.Name)})
	return struct{}{}, nil
}

// Queue returns a queue by name or ARN, or nil.
func (s *Service) Queue(r store.Reader, nameOrARN string) *Queue {
	return s.t.queues.Get(r, s.fleets.Home().ID("gamesessionqueue", nameOrARN))
}

// Queues returns an iterator over the queues after a name, in order of names.
func (s *Service) Queues(r store.Reader, after string) iter.Seq[*Queue] {
	return s.t.queues.After(r, after)
}

// set assigns *v to *to unless v is nil.
func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}
