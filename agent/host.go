package agent

import (
	"context"
	"log/slog"
	"slices"

	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/hosts/protocol"
)

// host is this machine as Muster's link sees it (link.Host).
type host struct {
	instances *instances
	uploads   *uploads
	reports   *reports
	shells    *shells
	tails     *tails
	sampler   *sampler
	log       *slog.Logger
}

func (h *host) Sample() { h.sampler.sample() }

func (h *host) Status() *protocol.Status {
	now := &protocol.Status{Resources: h.sampler.resources()}
	now.Instances, now.Own = h.instances.report()
	return now
}

func (h *host) Exits(seq uint64) []protocol.Exited { return h.reports.after(seq) }

func (h *host) LogsStored() <-chan protocol.LogsStored { return h.uploads.done }

func (h *host) Tailed() <-chan protocol.Tailed { return h.tails.done }

func (h *host) Obey(ctx context.Context, m protocol.Message) {
	switch {
	case m.Assign != nil:
		if err := h.instances.store(untraced(*m.Assign)); err != nil {
			h.log.Error("the desired state is not kept; a restart would go on with an older one", "error", err)
		}
		h.instances.assign(*m.Assign)
		h.instances.g.Images.Ahead(m.Assign.Images)
	case m.Kill != nil:
		if i := h.instances.find(m.Kill.InstanceID); i != nil {
			i.Kill(*m.Kill)
		}
	case m.Collect != nil:
		i := h.instances.find(m.Collect.InstanceID)
		if !instance.ValidID(m.Collect.ProcessID) {
			i = nil
		}
		h.uploads.collect(ctx, i, *m.Collect)
	case m.Shell != nil:
		h.shells.begin(ctx, *m.Shell)
	case m.Tail != nil:
		h.tails.begin(ctx, *m.Tail)
	case m.Ack != nil:
		if err := h.reports.ack(m.Ack.Seq); err != nil {
			h.log.Warn("report not forgotten", "error", err)
		}
	}
}

// untraced returns a desired state without traces: what the next agent does belongs to none.
func untraced(a protocol.Assign) protocol.Assign {
	a.Instances = slices.Clone(a.Instances)
	for n := range a.Instances {
		a.Instances[n].Trace = ""
	}
	return a
}
