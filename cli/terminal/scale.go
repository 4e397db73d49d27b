package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
)

// Scale is a change of the capacity of a location of a fleet. Members that are nil stay as they are.
type Scale struct {
	Location          string // "" if the fleet may have instances in one location only
	Min, Desired, Max *int
}

// size has the members of UpdateFleetCapacity.
type size struct{ MinSize, DesiredInstances, MaxSize int }

// scaled is what ScaleFleet did.
type scaled struct {
	FleetID  string `json:"FleetId"`
	Location string
	From, To size
	Policies []string `json:"ScalingPolicies,omitempty"` // which may change it again
}

// ScaleFleet changes how many instances a location of a fleet is to have.
func (t *Terminal) ScaleFleet(ctx context.Context, text string, s Scale) error {
	if s.Min == nil && s.Desired == nil && s.Max == nil {
		return errors.New("nothing is to change: give --desired, --min or --max")
	}
	f, err := t.Client.FindFleet(ctx, text)
	if err != nil {
		return err
	}
	if f.ComputeType == anywhereType {
		return fmt.Errorf("fleet %s is of ComputeType %s, which has no capacity: start and stop its game servers where they run", f.ID, f.ComputeType)
	}
	l, err := s.at(f)
	if err != nil {
		return err
	}
	done := scaled{FleetID: f.ID, Location: l.Location}
	if l.Scaling != nil {
		done.Policies = l.Scaling.Policies
	}
	if done.From, err = t.size(ctx, f.ID, l.Location); err != nil {
		return err
	}
	change := map[string]any{"FleetId": f.ID, "Location": l.Location}
	for member, n := range map[string]*int{"MinSize": s.Min, "DesiredInstances": s.Desired, "MaxSize": s.Max} {
		if n != nil {
			change[member] = *n
		}
	}
	if err := t.Client.Call(ctx, "UpdateFleetCapacity", change, nil); err != nil {
		refused, ok := errors.AsType[*client.Error](err)
		if more := s.missing(done.From, l.fromZero()); ok && more != "" && refused.Code == "InvalidRequestException" {
			return fmt.Errorf("%w; add %s", err, more)
		}
		return err
	}
	if done.To, err = t.size(ctx, f.ID, l.Location); err != nil {
		return err
	}
	if t.JSON {
		return WriteJSON(t.Out, done)
	}
	for _, line := range l.said(cmp.Or(f.Name, f.ID), done) {
		if err := t.line(line); err != nil {
			return err
		}
	}
	return nil
}

// said returns what people are told of a change of a place of a fleet with a name: what it was, what
// ends with it, and what changes it again.
func (p place) said(fleet string, done scaled) []string {
	lines := []string{fmt.Sprintf("%s in %s: %s, %s, %s.", fleet, p.Location,
		fromTo("MinSize", done.From.MinSize, done.To.MinSize),
		fromTo("DesiredInstances", done.From.DesiredInstances, done.To.DesiredInstances),
		fromTo("MaxSize", done.From.MaxSize, done.To.MaxSize))}
	if gone := p.Active - done.To.DesiredInstances; gone > p.Idle {
		lines = append(lines, "Note: "+setup.Ending(gone-p.Idle, gone)+", which end at once unless they are protected.")
	}
	return append(lines, p.undone(done.To)...)
}

func fromTo(member string, from, to int) string {
	if from == to {
		return fmt.Sprintf("%s %d", member, to)
	}
	return fmt.Sprintf("%s from %d to %d", member, from, to)
}

// missing returns the flags that make a refused change possible, or "" if those that are given
// contradict each other.
func (s Scale) missing(was size, fromZero bool) string {
	above := func(a, b *int) bool { return a != nil && b != nil && *a > *b }
	zero := 0
	if above(&zero, s.Min) || above(&zero, s.Desired) || above(&zero, s.Max) {
		return ""
	}
	if above(s.Min, s.Desired) || above(s.Desired, s.Max) || above(s.Min, s.Max) || fromZero && s.Min != nil {
		return ""
	}
	given := func(n *int, otherwise int) int {
		if n != nil {
			return *n
		}
		return otherwise
	}
	most := given(s.Max, math.MaxInt)
	low := given(s.Min, min(was.MinSize, given(s.Desired, most), most))
	if fromZero {
		low = 0 // the server sets it
	}
	n := given(s.Desired, max(low, min(was.DesiredInstances, most)))
	high := given(s.Max, max(was.MaxSize, n))
	var flags []string
	add := func(flag string, n, is int) {
		if n != is {
			flags = append(flags, fmt.Sprintf("%s %d", flag, n))
		}
	}
	if !fromZero {
		add("--min", low, given(s.Min, was.MinSize))
	}
	add("--desired", n, given(s.Desired, was.DesiredInstances))
	add("--max", high, given(s.Max, was.MaxSize))
	return strings.Join(flags, " ")
}

// place is a location of a fleet that is scaled.
type place struct{ client.FleetLocation }

func (p place) fromZero() bool { return p.Scaling != nil && p.Scaling.FromZero }

// undone returns what changes the capacity that a location has by itself, and what keeps it.
func (p place) undone(is size) (lines []string) {
	c := p.Scaling
	if c == nil || is.MinSize == is.MaxSize {
		return nil
	}
	if len(c.Policies) > 0 {
		names := "Scaling policy " + c.Policies[0]
		verb, does := "changes", "does"
		if len(c.Policies) > 1 {
			names, verb, does = "Scaling policies "+strings.Join(c.Policies, ", "), "change", "do"
		}
		switch {
		case is.DesiredInstances == 0:
			lines = append(lines, fmt.Sprintf("%s %s not change DesiredInstances while it is 0.", names, does))
		case is.DesiredInstances > is.MinSize && !c.FromZero:
			lines = append(lines, fmt.Sprintf("%s %s DesiredInstances again, between MinSize and MaxSize, as soon as it has a reason to; --min %d keeps it from going below %d.",
				names, verb, is.DesiredInstances, is.DesiredInstances))
		default:
			lines = append(lines, fmt.Sprintf("%s %s DesiredInstances again, between MinSize and MaxSize, as soon as it has a reason to.", names, verb))
		}
	}
	switch {
	case !c.FromZero || c.IdleFor == 0:
	case is.DesiredInstances == 0:
		lines = append(lines, "The first game session that is asked for there gets an instance (SCALE_TO_AND_FROM_ZERO).")
	default:
		lines = append(lines, fmt.Sprintf("It is scaled to zero after %s without game sessions (SCALE_TO_AND_FROM_ZERO).", plain.Count(int(c.IdleFor), "minute")))
	}
	return lines
}

// at returns the location of a fleet to scale: the one named, or else the only one that may have
// instances.
func (s Scale) at(f client.Fleet) (place, error) {
	var all, open []string
	for _, l := range f.Locations {
		all = append(all, l.Location)
		if l.Scaling != nil && l.Scaling.Max > 0 {
			open = append(open, l.Location)
		}
	}
	name := s.Location
	switch {
	case name != "" && !slices.Contains(all, name):
		return place{}, fmt.Errorf("--location: fleet %s has no location %q; it has %s", f.ID, name, strings.Join(all, ", "))
	case name != "":
	case len(all) == 1:
		name = all[0]
	case len(open) == 1:
		name = open[0]
	default:
		if len(open) > 1 {
			all = open
		}
		return place{}, fmt.Errorf("fleet %s has several locations: name one of %s with --location", f.ID, strings.Join(all, ", "))
	}
	return place{f.Locations[slices.IndexFunc(f.Locations, func(l client.FleetLocation) bool { return l.Location == name })]}, nil
}

// size returns how many instances a location of a fleet is to have.
func (t *Terminal) size(ctx context.Context, fleetID, location string) (size, error) {
	var out struct {
		FleetCapacity struct {
			InstanceCounts struct {
				Min     int `json:"MINIMUM"`
				Desired int `json:"DESIRED"`
				Max     int `json:"MAXIMUM"`
			}
		}
	}
	err := t.Client.Call(ctx, "DescribeFleetLocationCapacity", map[string]any{"FleetId": fleetID, "Location": location}, &out)
	n := out.FleetCapacity.InstanceCounts
	return size{n.Min, n.Desired, n.Max}, err
}
