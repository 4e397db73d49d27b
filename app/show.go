package app

import (
	"context"
	"sync"

	"github.com/musterhq/muster/app/demo"
)

// show is the demo as it runs: it comes after everything else and goes first.
type show struct {
	mu     sync.Mutex
	cancel context.CancelFunc
	ended  chan struct{}
}

// makeDemo puts the demo together, where one is wanted, and names it as the host
// of its processes.
func (a *App) makeDemo() {
	if a.opts.Demo == nil {
		return
	}
	login := "export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=" + a.opts.Region
	if !a.opts.AcceptAny {
		login = "export AWS_SHARED_CREDENTIALS_FILE=" + a.opts.file(firstKeyFile) + " AWS_DEFAULT_REGION=" + a.opts.Region
	}
	a.demo = demo.New(*a.opts.Demo, demo.Services{
		Store: a.domain.store, Events: a.domain.events,
		Fleets: a.domain.fleets, Computes: a.domain.computes, Sessions: a.domain.sessions,
		Dir: a.opts.file("demo"), Login: login, Out: a.opts.Out, Logger: a.log, Started: a.begun,
		URL:           a.base,
		GameServerURL: gameServerURL(a.base),
	})
	a.domain.computes.HostedBy(a.demo)
}

// start runs a demo, if there is one, until stop.
func (s *show) start(d *demo.Demo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended = cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		d.Run(ctx)
	}()
}

// stop ends the demo and its processes, and waits for that.
func (s *show) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
}
