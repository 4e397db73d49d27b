package instance

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
)

// spanOf returns the name of an instance among what has begun.
func spanOf(instanceID string) string { return "instance/" + instanceID }

// Traceparent returns the span of an instance that starts because of a request, for its host;
// "" if there is none.
func (is *instances) Traceparent(instanceID string) string {
	return tracing.Carried(is.opts.Tracer.Of(spanOf(instanceID)))
}

// traceMade remembers that an instance is made within the request to its fleet that causes it,
// before its host hears of the instance.
func (pl *planner) traceMade(tx *store.Tx, i *Instance) {
	id, fleetID := i.ID, i.FleetID
	tx.OnCommit(func() { pl.opts.Tracer.Begin(spanOf(id), pl.opts.Tracer.Cause(fleet.SpanOf(fleetID))) })
}

// traceDone forgets the requests to fleets that have all instances, which cause no more: what is
// made later replaces others, or is scaling's.
func (pl *planner) traceDone(tx *store.Tx, short []Shortage) {
	if pl.opts.Tracer == nil {
		return
	}
	done := map[string]bool{}
	for f := range pl.Fleets.Managed(tx) {
		done[f.ID] = true
	}
	for _, s := range short {
		delete(done, s.FleetID)
	}
	tx.OnCommit(func() {
		for id := range done {
			pl.opts.Tracer.Forget(fleet.SpanOf(id))
		}
	})
}

// traceStarted makes the span of an instance that has started or, if failed is not "", will not.
// Its host does nothing more within it.
func (is *instances) traceStarted(tx *store.Tx, i *Instance, failed event.Code) {
	if is.opts.Tracer == nil {
		return
	}
	until, name := tx.Now(), spanOf(i.ID)
	tx.OnCommit(func() {
		is.opts.Tracer.End(name, func() tracing.Ended {
			is.notify(i.HostID)
			return tracing.Ended{Name: "instance start", From: i.Created, Until: until, Failed: string(failed), Attributes: []attribute.KeyValue{
				attribute.String("muster.instance.id", i.ID), attribute.String("muster.fleet.id", i.FleetID),
				attribute.String("muster.location", i.Location), attribute.String("muster.host.id", i.HostID),
			}}
		})
	})
}
