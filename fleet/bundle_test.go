package fleet_test

import (
	"context"
	"slices"
	"testing"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

const (
	home  = "us-east-1"
	other = "eu-west-1"
)

// fixture is the real service on a store in memory.
type fixture struct {
	testing.TB
	ctx     context.Context
	st      *store.Store
	events  *event.Log
	fleets  *fleet.Service
	desired int // calls of OnDesired
	deleted int // calls of OnDeleting
}

func newFixture(t testing.TB, o fleet.Options) *fixture {
	t.Helper()
	x := &fixture{TB: t, ctx: context.Background(), st: store.New(store.Options{Driver: store.NewMemory()})}
	x.events = event.New(x.st, event.Options{})
	o.Home = arn.Home{Region: home, Account: "000000000000"}
	o.Builds = func(_ store.Reader, id string) (fleet.Build, error) {
		return fleet.Build{ID: id, OS: "AMAZON_LINUX_2023", Ready: true}, nil
	}
	x.fleets = fleet.New(x.st, fleet.Deps{Events: x.events, Tags: tag.New(x.st)}, o)
	x.fleets.OnDesired(func() { x.desired++ })
	x.fleets.OnDeleting(func() { x.deleted++ })
	x.must(x.st.Open(x.ctx))
	t.Cleanup(func() { x.must(x.st.Close()) })
	return x
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// refused fails the test unless err is a fault of the kind.
func (x *fixture) refused(err error, kind fault.Kind) {
	x.Helper()
	if !fault.Is(err, kind) {
		x.Fatalf("got %v, want %v", err, kind)
	}
}

// managed creates a managed fleet in its home region and other locations.
func (x *fixture) managed(locations ...string) *fleet.Fleet {
	x.Helper()
	return x.tagged(nil, locations...)
}

// tagged creates a managed fleet with tags.
func (x *fixture) tagged(tags map[string]string, locations ...string) *fleet.Fleet {
	x.Helper()
	f, err := x.fleets.Create.Do(x.ctx, fleet.CreateInput{
		ComputeType: fleet.EC2, Tags: tags, Locations: locations, Managed: &fleet.Managed{BuildID: "build-1", InstanceType: "c5.large"},
		Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/server", Concurrent: 1}}},
	})
	x.must(err)
	return f
}

// anywhere creates an Anywhere fleet in a custom location.
func (x *fixture) anywhere(location string) *fleet.Fleet {
	x.Helper()
	_, err := x.fleets.Locations.Create(x.ctx, location, nil)
	x.must(err)
	f, err := x.fleets.Create.Do(x.ctx, fleet.CreateInput{ComputeType: fleet.Anywhere, Locations: []string{location}})
	x.must(err)
	return f
}

// add adds locations to a fleet, and remove removes them.
func (x *fixture) add(id string, locations ...string) error {
	_, err := x.fleets.AddLocations.Do(x.ctx, fleet.LocationsInput{FleetID: id, Locations: locations})
	return err
}

func (x *fixture) remove(id string, locations ...string) error {
	_, err := x.fleets.RemoveLocations.Do(x.ctx, fleet.LocationsInput{FleetID: id, Locations: locations})
	return err
}

// capacity changes a capacity.
func (x *fixture) capacity(in fleet.CapacityInput) error {
	_, err := x.fleets.Capacities.Update.Do(x.ctx, in)
	return err
}

// do runs f in its own transaction.
func (x *fixture) do(f func(tx *store.Tx)) {
	x.Helper()
	x.must(x.st.Update(x.ctx, func(tx *store.Tx) error { f(tx); return nil }))
}

// advance moves a location of a fleet to a status.
func (x *fixture) advance(id, location string, to fleet.Status) {
	x.Helper()
	x.do(func(tx *store.Tx) { x.fleets.Advance(tx, id, location, to) })
}

func (x *fixture) get(id string) *fleet.Fleet { return x.fleets.Get(x.st.View(), id) }

func (x *fixture) at(id, location string) fleet.LocationState {
	x.Helper()
	l := x.get(id).Place(location)
	if l == nil {
		x.Fatalf("fleet %s has no location %s", id, location)
	}
	return *l
}

// codes returns the codes of a fleet's events since a number of the log.
func (x *fixture) codes(id string, since uint64) []event.Code {
	x.Helper()
	entries, err := x.events.Read(x.ctx, event.Query{After: since, Limit: 1000})
	x.must(err)
	var codes []event.Code
	for _, e := range entries {
		if e.Value.FleetID == id {
			codes = append(codes, e.Value.Code)
		}
	}
	return codes
}

// happened fails the test unless these are the fleet's events since a number of the log.
func (x *fixture) happened(id string, since uint64, want ...event.Code) {
	x.Helper()
	if got := x.codes(id, since); !slices.Equal(got, want) {
		x.Errorf("events %v, want %v", got, want)
	}
}

func (x *fixture) now() uint64 { return x.events.Last(x.st.View()) }

func ptr[T any](v T) *T { return &v }
