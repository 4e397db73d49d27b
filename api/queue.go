package api

import (
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/placement"
)

func (h handlers) registerQueues(srv *awsrpc.Server) {
	on(srv, "CreateGameSessionQueue", h.createGameSessionQueue)
	on(srv, "UpdateGameSessionQueue", h.updateGameSessionQueue)
	on(srv, "DescribeGameSessionQueues", h.describeGameSessionQueues)
	on(srv, "DeleteGameSessionQueue", h.deleteGameSessionQueue)
}

func (h handlers) createGameSessionQueue(ctx context.Context, in *gamelift.CreateGameSessionQueueInput) (*gamelift.CreateGameSessionQueueOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	q := placement.Queue{
		Name: *in.Name, Timeout: seconds(in.TimeoutInSeconds), Destinations: list(in.Destinations, destinationIn),
		Policies: list(in.PlayerLatencyPolicies, policyIn), EventData: val(in.CustomEventData), Target: val(in.NotificationTarget),
		AllowedLocations: val(in.FilterConfiguration).AllowedLocations,
	}
	if p := in.PriorityConfiguration; p != nil {
		q.Priority, q.LocationOrder = criteriaIn(p), p.LocationOrder
	}
	made, err := h.Placements.Queues.Create.Do(ctx, placement.QueueInput{
		Queue: q, Tags: tags, Elsewhere: h.Placements.Queues.Elsewhere(ctx, q.Destinations),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateGameSessionQueueOutput{GameSessionQueue: new(h.queueOut(made))}, nil
}

func (h handlers) updateGameSessionQueue(ctx context.Context, in *gamelift.UpdateGameSessionQueueInput) (*gamelift.UpdateGameSessionQueueOutput, error) {
	update := placement.QueueUpdate{
		Name: *in.Name, EventData: in.CustomEventData, Target: in.NotificationTarget, Timeout: times(in.TimeoutInSeconds, time.Second),
		Destinations: listIfGiven(in.Destinations, destinationIn), Policies: listIfGiven(in.PlayerLatencyPolicies, policyIn),
	}
	if in.FilterConfiguration != nil { // an empty one removes the filter
		update.AllowedLocations = &in.FilterConfiguration.AllowedLocations
	}
	if update.Destinations != nil {
		update.Elsewhere = h.Placements.Queues.Elsewhere(ctx, *update.Destinations)
	}
	if p := in.PriorityConfiguration; p != nil {
		update.Priority, update.LocationOrder = new(criteriaIn(p)), &p.LocationOrder
	}
	q, err := h.Placements.Queues.Update.Do(ctx, update)
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateGameSessionQueueOutput{GameSessionQueue: new(h.queueOut(q))}, nil
}

// largestQueuePage is the largest page of DescribeGameSessionQueues (API reference).
const largestQueuePage = 50

func (h handlers) describeGameSessionQueues(ctx context.Context, in *gamelift.DescribeGameSessionQueuesInput) (*gamelift.DescribeGameSessionQueuesOutput, error) {
	view := h.Store.View()
	if len(in.Names) > 0 {
		named := existing(in.Names, func(name string) *placement.Queue { return h.Placements.Queues.Get(view, name) })
		return &gamelift.DescribeGameSessionQueuesOutput{GameSessionQueues: list(named, h.queueOut)}, nil
	}
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestQueuePage), func(after string) iter.Seq[*placement.Queue] {
		return reached(ctx, h.Placements.Queues.After(view, after), h.queueARN)
	}, func(q *placement.Queue) string { return q.Name }, "DescribeGameSessionQueues")
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameSessionQueuesOutput{GameSessionQueues: list(page, h.queueOut), NextToken: next}, nil
}

func (h handlers) deleteGameSessionQueue(ctx context.Context, in *gamelift.DeleteGameSessionQueueInput) (*gamelift.DeleteGameSessionQueueOutput, error) {
	return nil, h.Placements.Queues.Delete.Do(ctx, *in.Name)
}

func destinationIn(d gamelift.GameSessionQueueDestination) string { return val(d.DestinationArn) }

func policyIn(p gamelift.PlayerLatencyPolicy) placement.LatencyPolicy {
	return placement.LatencyPolicy{
		Max: int(val(p.MaximumIndividualPlayerLatencyMilliseconds)), Duration: seconds(p.PolicyDurationSeconds),
	}
}

func criteriaIn(p *gamelift.PriorityConfiguration) []placement.Criterion {
	return list(p.PriorityOrder, func(c string) placement.Criterion { return placement.Criterion(c) })
}

func (h handlers) queueOut(q *placement.Queue) gamelift.GameSessionQueue {
	out := gamelift.GameSessionQueue{
		Name: &q.Name, GameSessionQueueArn: new(h.queueARN(q)),
		TimeoutInSeconds: num(int(q.Timeout / time.Second)), CustomEventData: opt(q.EventData), NotificationTarget: opt(q.Target),
		Destinations: list(q.Destinations, func(d string) gamelift.GameSessionQueueDestination {
			return gamelift.GameSessionQueueDestination{DestinationArn: &d}
		}),
		PlayerLatencyPolicies: list(q.Policies, policyOut),
	}
	if len(q.AllowedLocations) > 0 {
		out.FilterConfiguration = &gamelift.FilterConfiguration{AllowedLocations: q.AllowedLocations}
	}
	if len(q.Priority)+len(q.LocationOrder) > 0 {
		out.PriorityConfiguration = &gamelift.PriorityConfiguration{
			PriorityOrder: list(q.Priority, func(c placement.Criterion) string { return string(c) }), LocationOrder: q.LocationOrder,
		}
	}
	return out
}

func (h handlers) queueARN(q *placement.Queue) string { return h.Placements.Queues.ARN(q.Name) }

func policyOut(p placement.LatencyPolicy) gamelift.PlayerLatencyPolicy {
	return gamelift.PlayerLatencyPolicy{
		MaximumIndividualPlayerLatencyMilliseconds: num(p.Max), PolicyDurationSeconds: opt(int32(p.Duration / time.Second)),
	}
}
