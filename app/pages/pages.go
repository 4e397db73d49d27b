package pages

import (
	"context"
	"log/slog"
	"sync"
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

	// HostOf returns the id of the host that runs a process, "" if no host is known to.
	HostOf func(p *compute.Process) string

	// Tail returns the end of what a process has written, at most so many bytes of each
	// stream, and what it used lately; nil if no agent runs it. Errors: InvalidRequest (its
	// agent cannot say now), Throttling.
	Tail func(ctx context.Context, p *compute.Process, most int) (*Tail, error)

	// Stored returns the end of the log that is stored of the process that hosted a game
	// session, at most so many bytes of each stream; nil if none is stored. Errors:
	// InvalidRequest (it cannot be read), Throttling.
	Stored func(ctx context.Context, g *session.GameSession, most int) (*Tail, error)
}

// Pages computes the pages of one node.
type Pages struct {
	Services
	*recorder
	saves    *saves
	notables *notables
	reread   wake.Nudge // the notable events in the log must be read
}

// New returns Pages that record from now on. It must be called before the store is opened.
func New(s Services) *Pages {
	r := newRecorder(s)
	p := &Pages{Services: s, recorder: r, saves: newSaves(s.Store, r), notables: newNotables(s.Events), reread: wake.NewNudge()}
	p.reread.Send()
	s.Store.OnReload(p.reread.Send) // an event may have become durable without its OnCommit
	return p
}

// Run continues what earlier nodes recorded, samples what is in use, measures matches and
// saves what is recorded, until ctx ends.
func (p *Pages) Run(ctx context.Context) {
	begun := time.Now()
	p.saves.restore(p.Store.View(), begun)
	p.sample(begun)
	var saving sync.WaitGroup
	saving.Go(func() { p.saves.keep(ctx, begun) })
	defer saving.Wait()
	next := time.NewTimer(untilSample(time.Now()))
	defer next.Stop()
	unread := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			p.sample(time.Now())
			next.Reset(untilSample(time.Now()))
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

// untilSample returns the time until the next sample: in the middle of a step, so that a
// sample that is a little late is still in it.
func untilSample(now time.Time) time.Duration {
	step := resolutions[fine].step
	d := step/2 - time.Duration(now.UnixNano()%int64(step))
	if d <= 0 {
		d += step
	}
	return d
}

// sample records the figures of this moment.
func (p *Pages) sample(now time.Time) {
	view := p.Store.View()
	if view == nil {
		return
	}
	p.forget(view)
	p.notables.keep(func(fleetID string) bool { return p.Fleets.Get(view, fleetID) != nil })
	p.running(now)
	t := p.totals(view)
	p.whole.sample(now, map[string]int{"players": t.Players, "sessions": t.Sessions, "waiting": t.Waiting, "pending": t.Pending, "free": t.Free})
	for _, f := range p.States() {
		if h := p.fleet(f.ID); h != nil {
			h.sample(now, map[string]int{
				"players": f.Players, "sessions": f.Sessions + f.Activating, "processes": f.Processes, "free": f.Free, "wanted": f.Desired, "there": f.Active,
			})
		}
	}
}
