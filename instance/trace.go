package instance

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
)

// starts are the spans of instances that start within requests to their fleets.
type starts struct {
	tracer  *tracing.Tracer // nil makes no spans
	changed func(hostID string)
}

// spanOf returns the name of an instance among what has begun.
func spanOf(instanceID string) string { return "instance/" + instanceID }

// Traceparent returns the span of an instance that starts because of a request, for its host;
// "" if there is none.
func (s *starts) Traceparent(instanceID string) string {
	return tracing.Carried(s.tracer.Of(spanOf(instanceID)))
}

// made remembers that an instance is made within the request to its fleet that causes it,
// before its host hears of the instance.
func (s *starts) made(tx *store.Tx, i *Instance) {
	id, fleetID := i.ID, i.FleetID
	tx.OnCommit(func() { s.tracer.Begin(spanOf(id), s.tracer.Cause(fleet.SpanOf(fleetID))) })
}

// planned forgets the requests to fleets that have all instances, which cause no more: what is
// made later replaces others, or is scaling's.
func (s *starts) planned(tx *store.Tx, fleets *fleet.Service, short []Shortage) {
	if s.tracer == nil {
		return
	}
	done := map[string]bool{}
	for f := range fleets.Managed(tx) {
		done[f.ID] = true
	}
	for _, one := range short {
		delete(done, one.FleetID)
	}
	tx.OnCommit(func() {
		for id := range done {
			s.tracer.Forget(fleet.SpanOf(id))
		}
	})
}

// end makes the span of an instance that has started or, if failed is not "", will not. Its
// host does nothing more within it.
func (s *starts) end(tx *store.Tx, i *Instance, failed event.Code) {
	if s.tracer == nil {
		return
	}
	until, name := tx.Now(), spanOf(i.ID)
	tx.OnCommit(func() {
		s.tracer.End(name, func() tracing.Ended {
			s.changed(i.HostID)
			return tracing.Ended{Name: "instance start", From: i.Created, Until: until, Failed: string(failed), Attributes: []attribute.KeyValue{
				attribute.String("muster.instance.id", i.ID), attribute.String("muster.fleet.id", i.FleetID),
				attribute.String("muster.location", i.Location), attribute.String("muster.host.id", i.HostID),
			}}
		})
	})
}
