package app

import (
	"context"
	"sync"

	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/instance"
)

// show is what runs in the server's process but could run beside it: the demo and the
// host of this process. It is started last and stopped first.
type show struct {
	mu     sync.Mutex
	cancel context.CancelFunc // nil before start
	over   bool               // stop was called
	ended  sync.WaitGroup
}

// makeShow creates the demo and the host, if they are configured, and registers them as
// the launchers of their processes.
func (a *App) makeShow() {
	if o := a.opts.Host; o != nil {
		a.host = host.New(*o, host.Services{
			Places: a.places(),
			Dir:    a.opts.absolute("agent"), URL: a.base, GameServerURL: gameServerURL(a.base), Login: a.login(),
			Region: a.opts.Region, Out: a.opts.Out, Logger: a.log,
			JoinToken: func(ctx context.Context) (string, error) {
				token, _, err := a.domain.instances.CreateJoinToken(ctx, instance.JoinTokenInput{Location: a.opts.Region})
				return token, err
			},
		})
		a.domain.instances.AddLauncher(a.host)
	}
	if o := a.opts.Demo; o != nil {
		a.demo = demo.New(*o, demo.Services{
			Places: a.places(), Store: a.domain.store, Events: a.domain.events,
			Fleets: a.domain.fleets, Computes: a.domain.computes, Sessions: a.domain.sessions,
			Dir: a.opts.file("demo"), Login: a.login(), Out: a.opts.Out, Logger: a.log, Started: a.begun,
			URL:           a.base,
			GameServerURL: gameServerURL(a.base),
		})
		a.domain.instances.AddLauncher(a.demo)
	}
}

// places returns the Places for programs of this machine.
func (a *App) places() host.Places {
	d := a.domain
	return host.Places{Store: d.store, Fleets: d.fleets, Computes: d.computes, Placements: d.placements, Matches: d.matches}
}

// login returns what to export before the printed commands.
func (a *App) login() string {
	if a.opts.AcceptAny {
		return "export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=" + a.opts.Region
	}
	return "export AWS_SHARED_CREDENTIALS_FILE=" + a.opts.file(firstKeyFile) + " AWS_DEFAULT_REGION=" + a.opts.Region
}

// start runs the demo and the host until stop. The app's mu must be held.
func (s *show) start(a *App) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	if a.host != nil {
		s.ended.Go(func() { a.host.Run(ctx) })
	}
	if a.demo != nil {
		s.ended.Go(func() { a.demo.Run(ctx) })
	}
}

// stop ends both, processes included, and waits for that.
func (s *show) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.cancel != nil {
		s.cancel()
		s.ended.Wait()
	}
}
