package terminal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/cli/client"
)

// anywhereType is the ComputeType of fleets that have no instances.
const anywhereType = "ANYWHERE"

// FleetFilter selects the fleets to show; empty fields match all.
type FleetFilter struct {
	Status     string // of the fleet, or with ByLocation of the location
	Location   string // where the fleet is
	ByLocation bool   // show each location by itself
}

// of returns the fleets that the filter selects.
func (f FleetFilter) of(all []client.Fleet) []client.Fleet {
	is := func(want, has string) bool { return want == "" || strings.EqualFold(want, has) }
	found := []client.Fleet{}
	for _, v := range all {
		if f.ByLocation {
			v.Locations = slices.DeleteFunc(slices.Clone(v.Locations), func(l client.FleetLocation) bool {
				return !is(f.Status, l.Status) || !is(f.Location, l.Location)
			})
		} else if !is(f.Status, v.Status) {
			continue
		}
		if slices.ContainsFunc(v.Locations, func(l client.FleetLocation) bool { return is(f.Location, l.Location) }) || f.Location == "" && !f.ByLocation {
			found = append(found, v)
		}
	}
	return found
}

// Fleets shows fleets with their load, and why something is pending.
func (t *Terminal) Fleets(ctx context.Context, filter FleetFilter) error {
	return t.show(ctx, func(ctx context.Context) (table, error) {
		fleets, err := t.Client.Fleets(ctx)
		if err != nil {
			return table{}, err
		}
		fleets, byLocation := filter.of(fleets), filter.ByLocation
		view := table{Table: Table{Head: []string{"FLEET", "NAME", "STATUS", "TYPE", "INSTANCES", "PROCESSES", "SESSIONS", "PLAYERS", "AGE", "REASON"}}, data: fleets}
		if byLocation {
			view.Head[3] = "LOCATION"
		}
		for _, f := range fleets {
			if !byLocation {
				view.Rows = append(view.Rows, fleetRow(f, f.Status, f.ComputeType, f.FleetLoad, reasons(f)))
				continue
			}
			for _, l := range f.Locations {
				view.Rows = append(view.Rows, fleetRow(f, l.Status, l.Location, l.FleetLoad, reasonOf(l)))
			}
		}
		return view, nil
	})
}

// Fleet shows a fleet with its locations and its last events.
func (t *Terminal) Fleet(ctx context.Context, text string) error {
	f, err := t.Client.FindFleet(ctx, text)
	if err != nil {
		return err
	}
	if t.JSON {
		return WriteJSON(t.Out, f)
	}
	facts := Table{Head: []string{"Fleet", f.ID}, Rows: [][]string{
		{"Name", f.Name}, {"Status", f.Status}, {"Type", f.ComputeType}, {"Created", f.Created.Local().Format(time.DateTime)},
		{"Instances", instanceCounts(f, f.FleetLoad)}, {"Processes", fmt.Sprintf("%d, of which %d are free", f.Processes, f.Free)},
		{"Game sessions", strconv.Itoa(f.Sessions)}, {"Players", fmt.Sprintf("%d of %d", f.Players, f.MaxPlayers)},
	}}
	if err := facts.Write(t.Out); err != nil {
		return err
	}
	fmt.Fprintln(t.Out)
	at := Table{Head: []string{"LOCATION", "STATUS", "INSTANCES", "PROCESSES", "SESSIONS", "PLAYERS", "REASON"}}
	for _, l := range f.Locations {
		at.Rows = append(at.Rows, append([]string{l.Location}, slices.Delete(fleetRow(f, l.Status, "", l.FleetLoad, trouble(l))[2:], 1, 2)...))
	}
	for i, row := range at.Rows {
		at.Rows[i] = slices.Delete(row, len(row)-2, len(row)-1) // the age is the fleet's
	}
	if err := t.writeTable(at); err != nil {
		return err
	}
	for _, l := range f.Locations {
		if c := l.LastCrash; c != nil {
			fmt.Fprintln(t.Out)
			if err := t.line(fmt.Sprintf("Last crash in %s, %s ago: %s: %s", l.Location, since(c.At), c.Code, c.Text)); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(t.Out)
	_, err = t.Events(ctx, client.EventQuery{Last: 10, FleetID: f.ID})
	return err
}

func fleetRow(f client.Fleet, status, what string, l client.FleetLoad, reason string) []string {
	return []string{
		f.ID, f.Name, status, what, instanceCounts(f, l), strconv.Itoa(l.Processes), strconv.Itoa(l.Sessions),
		fmt.Sprintf("%d/%d", l.Players, l.MaxPlayers), since(f.Created), reason,
	}
}

// instanceCounts returns ACTIVE/desired instances, and the counts of those in other
// states.
func instanceCounts(f client.Fleet, l client.FleetLoad) string {
	if f.ComputeType == anywhereType {
		return "-"
	}
	text := fmt.Sprintf("%d/%d", l.Active, l.Desired)
	for _, more := range []struct {
		n    int
		what string
	}{{l.Idle, "idle"}, {l.Pending, "pending"}, {l.Terminating, "ending"}} {
		if more.n > 0 {
			text += fmt.Sprintf(" %d %s", more.n, more.what)
		}
	}
	return text
}

// reasons joins the reasons of the locations of a fleet.
func reasons(f client.Fleet) string {
	var all []string
	for _, l := range f.Locations {
		why := reasonOf(l)
		switch {
		case why == "":
		case len(f.Locations) == 1:
			all = append(all, why)
		default:
			all = append(all, l.Location+": "+why)
		}
	}
	return strings.Join(all, "; ")
}

// trouble returns why something is pending in a location, or why it takes no game sessions.
func trouble(l client.FleetLocation) string {
	if l.Full == "" {
		return l.Reason
	}
	full := "full: " + l.Full
	if l.Reason != "" {
		full += "; " + l.Reason
	}
	return full
}

const (
	// lately is for how long a crash is in the list of fleets. If one is to be ready, and none is, it always is.
	lately = 15 * time.Minute
	// longestCrash is how many characters of a crash are in the list.
	longestCrash = 300
)

// reasonOf returns what is wrong in a location, and the last crash there.
func reasonOf(l client.FleetLocation) string {
	text, c := trouble(l), l.LastCrash
	if c == nil || time.Since(c.At) > lately && (l.Processes > 0 || text == "" && l.Status != "ERROR") {
		return text
	}
	crash := []rune(fmt.Sprintf("last crash %s ago: %s: %s", since(c.At), c.Code, c.Text))
	if len(crash) > longestCrash {
		crash = append(crash[:longestCrash], '…')
	}
	if text != "" {
		text += "; "
	}
	return text + string(crash)
}
