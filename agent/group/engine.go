package group

import (
	"context"
	"io"
	"net/netip"
	"time"

	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/hosts/protocol"
)

// Engine runs container groups. It is the machine's container engine except in tests in
// virtual time, where no container can run.
type Engine interface {
	Facts() protocol.Engine
	// Ping returns an error if the engine does not answer.
	Ping(ctx context.Context) error
	// Address returns the address at which containers reach this machine, or the zero
	// value if there is none.
	Address() netip.Addr
	// Pull fetches an image unless the engine has it; several pulls of one image are one.
	// The error of an image that cannot be had says why, in a sentence (Refused). progress
	// may be nil.
	Pull(ctx context.Context, image string, progress func(percent int)) error
	// Start creates and starts the containers of a group, in the order of their
	// dependencies. If it fails, nothing is left of them.
	Start(ctx context.Context, l Launch) (Containers, error)
	// ProcessOf returns the id of the run in whose game server container a process of this
	// machine runs, or "". It does not ask the engine.
	ProcessOf(pid int) string
	// Find returns the groups that a former agent left, ended ones included.
	Find(ctx context.Context) ([]Containers, error)
}

// Containers are the containers of a group that was started.
type Containers interface {
	Labels() Labels
	Status() []protocol.ContainerStatus
	Usage() protocol.Usage
	Used() []protocol.UsageAt // over the last minutes, oldest first
	Ended() <-chan struct{}   // closed when an essential container has ended
	End() End                 // which one, and how; valid once Ended is closed
	// Stop ends all containers, by force after the grace period or when ctx ends. Their
	// output can be read until Remove.
	Stop(ctx context.Context, grace time.Duration) error
	Remove(ctx context.Context) error
	// Output writes what a container has written so far; if follow is set, it goes on
	// until the container has ended.
	Output(ctx context.Context, container string, to io.Writer, follow bool) error
	// LastLines writes the last lines that a container has written, at most so many.
	LastLines(ctx context.Context, container string, most int, to io.Writer) error
	// Exec starts a program in a container, beside its own. The caller must close it.
	Exec(ctx context.Context, o engine.ExecOptions) (*engine.Exec, error)
}

// Launch describes a run of a container group.
type Launch struct {
	Labels
	Group protocol.Group // with the whole environment of its containers
}

// Labels identify a run of a container group. The engine keeps them.
type Labels struct {
	InstanceID string
	FleetID    string
	Group      string // its name
	Definition string
	ProcessID  string // of its game server, or of the run if it has none
	Started    time.Time
}

// End describes how a group ended.
type End = engine.End

// Refused is the error of an image that cannot be had, however often it is requested.
type Refused struct {
	Reason string // a sentence
	Lasts  bool   // another try would fail as well, until somebody changes something
}

func (r *Refused) Error() string { return r.Reason }
