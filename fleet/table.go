package fleet

import (
	"fmt"
	"iter"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
)

// Fleets is the table of fleets, which Service, Capacities, Locations and Aliases read and
// change.
type Fleets struct {
	home    arn.Home
	events  *event.Log
	table   *store.Table[Fleet]
	using   *store.Index[Fleet] // by location that the fleet lists
	leaving *store.Index[Fleet] // fleets that are being deleted or lose a location
	managed *store.Index[Fleet] // managed fleets
	ofBuild *store.Index[Fleet] // managed fleets by build

	ofDefinition *store.Index[Fleet] // container fleets by the names of their container group definitions

	onDesired []func()
	tracer    *tracing.Tracer
}

func newFleets(st *store.Store, events *event.Log, home arn.Home) *Fleets {
	t := &Fleets{home: home, events: events}
	t.table = store.NewTable(st, store.TableSpec[Fleet]{Name: "fleet", Key: func(f *Fleet) string { return f.ID }})
	t.using = store.NewIndex(t.table, "location", func(f *Fleet, emit func(string)) {
		for _, l := range f.Locations {
			emit(l.Location)
		}
	})
	t.leaving = store.NewIndex(t.table, "leaving", func(f *Fleet, emit func(string)) {
		if f.leaving() {
			emit("")
		}
	})
	t.managed = store.NewIndex(t.table, "managed", func(f *Fleet, emit func(string)) {
		if f.Managed != nil {
			emit("")
		}
	})
	t.ofBuild = store.NewIndex(t.table, "build", func(f *Fleet, emit func(string)) {
		if f.Managed != nil && f.Containers == nil {
			emit(f.Managed.BuildID)
		}
	})
	t.ofDefinition = store.NewIndex(t.table, "definition", func(f *Fleet, emit func(string)) {
		for name := range f.Containers.names() {
			emit(name)
		}
	})
	return t
}

// Home returns the deployment that the fleets belong to.
func (t *Fleets) Home() arn.Home { return t.home }

// Get returns a fleet by id or ARN, or nil.
func (t *Fleets) Get(r store.Reader, idOrARN string) *Fleet {
	return t.table.Get(r, t.home.FleetID(idOrARN))
}

// Find returns a fleet by id or ARN. Errors: NotFound.
func (t *Fleets) Find(r store.Reader, idOrARN string) (*Fleet, error) {
	if f := t.Get(r, idOrARN); f != nil {
		return f, nil
	}
	return nil, fault.Missing("FleetId: fleet %s does not exist", idOrARN)
}

// All returns an iterator over the fleets after an id, oldest first.
func (t *Fleets) All(r store.Reader, after string) iter.Seq[*Fleet] { return t.table.After(r, after) }

// Leaving returns an iterator over the fleets that are being deleted or lose a location.
func (t *Fleets) Leaving(r store.Reader) iter.Seq[*Fleet] { return t.leaving.Equal(r, "") }

// Managed returns an iterator over the managed fleets, oldest first.
func (t *Fleets) Managed(r store.Reader) iter.Seq[*Fleet] { return t.managed.Equal(r, "") }

// OfDefinition returns an iterator over the container fleets that run a version of a
// container group definition, oldest first.
func (t *Fleets) OfDefinition(r store.Reader, name string) iter.Seq[*Fleet] {
	return t.ofDefinition.Equal(r, name)
}

// OfBuild returns an iterator over the fleets of a build, oldest first.
func (t *Fleets) OfBuild(r store.Reader, buildID string) iter.Seq[*Fleet] {
	return t.ofBuild.Equal(r, buildID)
}

// OnDesired registers f to be called, after commit, when the instances that managed
// fleets need may have changed.
func (t *Fleets) OnDesired(f func()) { t.onDesired = append(t.onDesired, f) }

// putDesired puts a fleet whose desired instances may have changed.
func (t *Fleets) putDesired(tx *store.Tx, f *Fleet) {
	t.table.Put(tx, f)
	if within := tx.Span(); within.IsValid() {
		id := f.ID
		tx.OnCommit(func() { t.tracer.Begin(SpanOf(id), within) })
	}
	t.notifyDesired(tx)
}

// SpanOf returns the name, among what has begun, of what the last request to a fleet causes.
func SpanOf(fleetID string) string { return "fleet/" + fleetID }

func (t *Fleets) notifyDesired(tx *store.Tx) { notify(tx, t.onDesired) }

// notify calls functions after commit.
func notify(tx *store.Tx, all []func()) {
	for _, f := range all {
		tx.OnCommit(f)
	}
}

// changeable returns a copy of a fleet that hosts game sessions.
func (t *Fleets) changeable(r store.Reader, idOrARN string) (*Fleet, error) {
	f, err := t.Find(r, idOrARN)
	if err != nil {
		return nil, err
	}
	if !f.Status.Serves() {
		return nil, fault.New(fault.InvalidFleetStatus, "fleet %s is in status %s; it must be ACTIVE", f.ID, f.Status)
	}
	return f.clone(), nil
}

// changeableManaged returns a copy of a managed fleet that hosts game sessions.
func (t *Fleets) changeableManaged(r store.Reader, idOrARN string) (*Fleet, error) {
	f, err := t.Find(r, idOrARN)
	if err == nil && f.Managed == nil {
		err = fault.Invalid("FleetId: fleet %s is of ComputeType %s; this works on managed fleets only", f.ID, f.ComputeType)
	}
	if err != nil {
		return nil, err
	}
	return t.changeable(r, idOrARN)
}

func (t *Fleets) record(tx *store.Tx, code event.Code, f *Fleet, location, format string, args ...any) {
	t.events.Append(tx, event.Event{Code: code, FleetID: f.ID, Location: location, Message: fmt.Sprintf(format, args...)})
}
