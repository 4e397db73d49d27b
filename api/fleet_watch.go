package api

import (
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

func (h handlers) describeFleetEvents(ctx context.Context, in *gamelift.DescribeFleetEventsInput) (*gamelift.DescribeFleetEventsOutput, error) {
	id := h.Home.ID("fleet", *in.FleetId)
	if id == "" {
		return nil, fault.Missing("FleetId: fleet %s does not exist", *in.FleetId)
	}
	request := []string{"DescribeFleetEvents", id, wireTime(in.StartTime), wireTime(in.EndTime)}
	after, err := cursor[uint64](in.NextToken, request...)
	if err != nil {
		return nil, err
	}
	n := limit(in.Limit, defaultPage, largestPage)
	found, err := h.Events.Read(ctx, event.Query{
		FleetID: id, After: after, From: in.StartTime.Or(time.Time{}), To: in.EndTime.Or(time.Time{}), NewestFirst: true, Limit: n + 1,
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && h.Fleets.Get(h.Store.View(), id) == nil {
		return nil, fault.Missing("FleetId: fleet %s does not exist", id)
	}
	more := len(found) > n
	found = found[:min(n, len(found))]
	if more {
		after = found[n-1].Seq
	}
	return &gamelift.DescribeFleetEventsOutput{Events: list(found, eventOut), NextToken: nextToken(more, after, request...)}, nil
}

// unlessDeleted returns err, the error of looking up a fleet, or nil if the fleet was
// deleted, as its events show: some operations return an empty result then (API
// reference).
func (h handlers) unlessDeleted(ctx context.Context, idOrARN string, err error) error {
	id := h.Home.ID("fleet", idOrARN)
	if !fault.Is(err, fault.NotFound) || id == "" {
		return err
	}
	found, readErr := h.Events.Read(ctx, event.Query{FleetID: id, NewestFirst: true, Limit: 1})
	switch {
	case readErr != nil:
		return readErr
	case len(found) == 0:
		return err
	}
	return nil
}

func wireTime(t *gamelift.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func eventOut(e event.Entry) gamelift.Event {
	return gamelift.Event{
		EventId: &e.Value.ID, ResourceId: &e.Value.FleetID, EventCode: new(string(e.Value.Code)),
		Message: opt(e.Value.Message), EventTime: gamelift.At(e.Value.Time), Count: new(int64(1)),
	}
}

func (h handlers) describeFleetUtilization(ctx context.Context, in *gamelift.DescribeFleetUtilizationInput) (*gamelift.DescribeFleetUtilizationOutput, error) {
	page, next, err := h.fleetPage(ctx, "DescribeFleetUtilization", in.FleetIds, in.Limit, in.NextToken)
	if err != nil {
		return nil, err
	}
	use := list(page, func(f *fleet.Fleet) gamelift.FleetUtilization { return h.utilization(f, wholeOf(f)) })
	return &gamelift.DescribeFleetUtilizationOutput{FleetUtilization: use, NextToken: next}, nil
}

func (h handlers) describeFleetLocationUtilization(_ context.Context, in *gamelift.DescribeFleetLocationUtilizationInput) (*gamelift.DescribeFleetLocationUtilizationOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	return &gamelift.DescribeFleetLocationUtilizationOutput{FleetUtilization: new(h.utilization(f, *in.Location))}, nil
}

// wholeOf returns the location that is meant if a request names none: the home region
// of a managed fleet, "" (all) for an ANYWHERE fleet.
func wholeOf(f *fleet.Fleet) string {
	if f.Managed != nil {
		return f.Home
	}
	return ""
}

// utilization returns the utilization of a fleet in a location; "" means the whole
// fleet, since the processes of an ANYWHERE fleet are never in its home region.
func (h handlers) utilization(f *fleet.Fleet, location string) gamelift.FleetUtilization {
	use := h.Sessions.Use(h.Store.View(), f.ID, location)
	shown := location
	if shown == "" {
		shown = f.Home
	}
	return gamelift.FleetUtilization{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Location: &shown,
		ActiveServerProcessCount: num(use.Processes), ActiveGameSessionCount: num(use.GameSessions),
		CurrentPlayerSessionCount: num(use.Players), MaximumPlayerSessionCount: num(use.MaxPlayers),
	}
}

// gameStatuses are the valid values of a StatusFilter.
var gameStatuses = []session.Status{session.Active, session.Terminated, session.Activating, session.Terminating}

// take returns the first n items of a sequence and reports whether more follow.
func take[T any](all iter.Seq[T], n int) (page []T, more bool) {
	for v := range all {
		if len(page) == n {
			return page, true
		}
		page = append(page, v)
	}
	return page, false
}
