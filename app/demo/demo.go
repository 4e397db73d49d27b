// Package demo is the demo of `muster local`: a fleet on this machine with game
// server processes of the arena game, a game session with bots in it, and the
// commands for creating another from a second terminal.
//
// It uses the domain as any door would, and its processes are run by this machine's host
// (app/host). It finds its resources by name at the next start.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Options configure the demo.
type Options struct {
	Server    string // path of the arena program; default: next to our own
	Processes int    // game server processes to keep; default 4
	Players   int    // bots in the demo session; default 3, -1 means none
}

// Services are what the demo uses.
type Services struct {
	Places   host.Places
	Store    *store.Store
	Events   *event.Log
	Sessions *session.Service

	Dir     string    // the demo's: of its processes, and the log of its bots
	URL     string    // base URL, for the commands it prints
	Login   string    // what to export before the printed commands
	Out     io.Writer // for people
	Logger  *slog.Logger
	Started time.Time // when the process started, for the time until the first session
}

// name identifies the demo's resources, and its processes if the server was killed.
const name = "demo"

// Demo runs the demo game. Use New to create one, and Run to run it.
type Demo struct {
	opts    Options
	s       Services
	log     *slog.Logger
	program string
	missing error                      // why there is no program
	make    func() (host.Place, error) // makes the demo's folder and resources, once
	place   host.Place                 // set by run
}

// New returns a demo. It starts and creates nothing yet.
func New(o Options, s Services) *Demo {
	o.Processes, o.Players = cmp.Or(o.Processes, 4), cmp.Or(o.Players, 3)
	d := &Demo{opts: o, s: s, log: s.Logger.With("component", "demo")}
	d.program, d.missing = FindProgram(o.Server)
	d.make = sync.OnceValues(func() (host.Place, error) {
		if err := os.MkdirAll(s.Dir, 0o750); err != nil {
			return host.Place{}, fmt.Errorf("make the demo's folder: %w", err)
		}
		return s.Places.Make(store.WithActor(context.Background(), name), name, "The demo of muster local", rules)
	})
	return d
}

// Program returns the game server for the host of this machine to run: nil if the arena
// program does not exist.
func (d *Demo) Program() *host.Program {
	if d.missing != nil {
		return nil
	}
	return &host.Program{
		Path: d.program, Dir: d.s.Dir, Args: []string{"server", "--wait", "10m"}, Copies: d.opts.Processes, Quiet: true,
		Instance: name, Place: func(context.Context) (host.Place, error) { return d.make() },
	}
}

// Run creates missing resources and keeps a game session going until ctx ends. Errors are
// logged and printed, and end only the demo.
func (d *Demo) Run(ctx context.Context) {
	if err := d.run(store.WithActor(ctx, name)); err != nil && ctx.Err() == nil {
		d.log.Error("the demo ended", "error", err)
		d.say("The demo ended: %v", err)
	}
}

func (d *Demo) run(ctx context.Context) (err error) {
	if d.place, err = d.make(); err != nil {
		return err
	}
	d.printCommands()
	if d.missing != nil {
		d.say("No game server processes run: %v.", d.missing)
		return nil
	}
	var page sync.WaitGroup
	page.Go(func() { d.servePage(ctx) })
	d.keepPlaying(ctx)
	page.Wait()
	return nil
}

// say prints a line for people.
func (d *Demo) say(format string, args ...any) { fmt.Fprintf(d.s.Out, format+"\n", args...) }
