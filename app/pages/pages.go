package pages

import (
	"context"
	"log/slog"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Services are what the pages tell about.
type Services struct {
	Home       arn.Home
	Store      *store.Store
	Events     *event.Log
	Fleets     *fleet.Service
	Computes   *compute.Service
	Sessions   *session.Service
	Instances  *instance.Service
	Placements *placement.Service
	Matches    *flexmatch.Service
	Identity   *identity.Service
	Lobby      *lobby.Service
	States     func() []client.Fleet // every fleet with its load
	Tags       func(resourceARN string) map[string]string
	Logger     *slog.Logger
}

// Pages computes the pages of one node.
type Pages struct {
	Services
	*recorder
	notables *notables
	reread   wake.Nudge // the notable events in the log must be read
}

// New returns Pages that record from now on. It must be called before the store is opened.
func New(s Services) *Pages {
	p := &Pages{Services: s, recorder: newRecorder(s), notables: newNotables(s.Events), reread: wake.NewNudge()}
	p.reread.Send()
	s.Store.OnReload(p.reread.Send) // an event may have become durable without its OnCommit
	return p
}

// Run samples what is in use, and measures matches, until ctx ends.
func (p *Pages) Run(ctx context.Context) {
	tick := time.NewTicker(step)
	defer tick.Stop()
	p.sample(time.Now())
	unread := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.sample(time.Now())
			if unread {
				p.reread.Send()
			}
		case <-p.reread:
			err := p.notables.read(ctx, p.Events)
			if unread = err != nil; unread && ctx.Err() == nil {
				p.Logger.Info("notable events not read; trying again", "error", err)
			}
		case m := <-p.toJudge:
			p.measure(m)
		}
	}
}

// sample records the figures of this moment.
func (p *Pages) sample(now time.Time) {
	view := p.Store.View()
	if view == nil {
		return
	}
	p.forget(view)
	t := p.totals(view)
	p.whole.set(now, "players", t.Players)
	p.whole.set(now, "sessions", t.Sessions)
	p.whole.set(now, "waiting", t.Waiting)
	p.whole.set(now, "pending", t.Pending)
	p.whole.set(now, "free", t.Free)
	for _, f := range p.States() {
		h := p.fleet(f.ID)
		if h == nil {
			continue
		}
		h.set(now, "players", f.Players)
		h.set(now, "sessions", f.Sessions+f.Activating)
		h.set(now, "processes", f.Processes)
		h.set(now, "free", f.Free)
		h.set(now, "wanted", f.Desired)
		h.set(now, "there", f.Active)
	}
}
