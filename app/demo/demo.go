package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Options configure the demo.
type Options struct {
	Server    string        // path of the arena program; default: next to our own
	Processes int           // game server processes to keep; default 4
	Players   int           // bots in the demo session; default 3, -1 means none
	StopGrace time.Duration // time for processes to end when the demo stops; default 5 s
}

// Services are what the demo uses.
type Services struct {
	Places   host.Places
	Store    *store.Store
	Events   *event.Log
	Fleets   *fleet.Service
	Computes *compute.Service
	Sessions *session.Service

	Dir           string    // the demo's: working directories, logs, records of processes
	URL           string    // base URL, for the commands it prints
	GameServerURL string    // where game servers connect
	Login         string    // what to export before the printed commands
	Out           io.Writer // for people
	Logger        *slog.Logger
	Started       time.Time // when the process started, for the time until the first session
}

// The names by which the demo finds its resources.
const (
	name        = "demo"
	location    = host.Location
	computeName = host.ComputeName
)

// Demo runs the demo game. Use New to create one, and Run to run it.
type Demo struct {
	opts    Options
	s       Services
	log     *slog.Logger
	program string // "" = does not exist

	fleetID  atomic.Pointer[string]
	aliasID  string
	group    atomic.Pointer[supervise.Group]
	stops    sync.WaitGroup // of processes that Muster counts as ended
	stopping chan struct{}
}

// New returns a demo. It starts and creates nothing yet.
func New(o Options, s Services) *Demo {
	if o.Processes == 0 {
		o.Processes = 4
	}
	if o.Players == 0 {
		o.Players = 3
	}
	if o.StopGrace == 0 {
		o.StopGrace = 5 * time.Second
	}
	return &Demo{opts: o, s: s, log: s.Logger.With("component", "demo"), stopping: make(chan struct{})}
}

// Run creates missing resources, starts the processes and keeps a game session going
// until ctx ends; then it ends the processes. Errors are logged and printed, and end
// only the demo.
func (d *Demo) Run(ctx context.Context) {
	if err := d.run(store.WithActor(ctx, name)); err != nil && ctx.Err() == nil {
		d.log.Error("the demo ended", "error", err)
		d.say("The demo ended: %v", err)
	}
}

func (d *Demo) run(ctx context.Context) error {
	if err := d.makeResources(ctx); err != nil {
		return err
	}
	program, err := FindProgram(d.opts.Server)
	if err != nil {
		d.printCommands()
		d.say("No game server processes run: %v.", err)
		return nil
	}
	d.program = program
	group, err := d.startProcesses(ctx)
	if err != nil {
		return err
	}
	d.printCommands()
	d.keepPlaying(ctx)
	close(d.stopping)
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opts.StopGrace+5*time.Second)
	defer cancel()
	err = group.Stop(within, d.opts.StopGrace)
	d.stops.Wait()
	return err
}

// say prints a line for people.
func (d *Demo) say(format string, args ...any) { fmt.Fprintf(d.s.Out, format+"\n", args...) }
