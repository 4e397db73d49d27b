package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/agent/group"
)

// startEngine begins to look after the container engine, if one is used. The first look is
// over when it returns.
func (a *Agent) startEngine(ctx context.Context) (stop func()) {
	if a.engines.open == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	a.engines.look(ctx)
	a.engines.facts = a.link.FactsChanged // what is known by now is in the first Hello
	var running sync.WaitGroup
	running.Go(func() { a.engines.run(ctx) })
	running.Go(func() { a.groups.Images.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		a.engines.close()
		if e := a.groups.Endpoints.Load(); e != nil && e.Discovery != nil {
			e.Discovery.Close()
		}
		if a.forwards != nil {
			a.forwards.close()
		}
	}
}

// takeOverGroups takes over the container groups that a former agent left, when an engine
// answers for the first time.
func (a *Agent) takeOverGroups(ctx context.Context, engine group.Engine) error {
	left, err := engine.Find(ctx)
	if err != nil {
		return fmt.Errorf("find containers: %w", err)
	}
	a.groups.Endpoints.Store(a.openEndpoints(engine))
	a.instances.adopt(left)
	a.resumed()
	return nil
}

// openEndpoints opens what the agent serves to containers, at the address at which they
// reach this machine.
func (a *Agent) openEndpoints(engine group.Engine) *group.Endpoints {
	e := &group.Endpoints{}
	at := engine.Address()
	if !at.IsValid() {
		a.log.Warn("containers do not reach this machine, so that game servers connect directly and there is no container discovery")
		return e
	}
	if r := a.machine.Relay; r != nil {
		door, err := r.Also(at)
		if err != nil {
			a.log.Error("containers do not reach the relay; their game servers connect directly", "error", err)
		} else {
			e.Relay = door
		}
	}
	if s := a.machine.Game; s != nil {
		door, err := s.Also(at)
		if err != nil {
			a.log.Error("containers do not reach the HTTP interface for game servers", "error", err)
		} else {
			e.Game = door
		}
	}
	if s := a.machine.Legacy; s != nil && a.opts.Containers.HostNetwork {
		e.Legacy = s
	}
	a.forwards = &forwards{at: at, tls: a.opts.TLS, log: a.log, open: map[string]*http.Server{}, urls: map[string]string{}}
	e.Forward = a.forwards.URL
	var err error
	if e.Discovery, err = group.ListenDiscovery(at, a.log); err != nil {
		a.log.Error("there is no container discovery", "error", err)
	}
	return e
}

// Containers are the options of container groups.
type Containers struct {
	// Engine is the engine that runs them: "none" or "", "auto" for the first of Docker and
	// Podman that answers, or the address of an engine's API, such as
	// unix:///run/docker.sock.
	Engine string
	// HostNetwork makes containers use the machine's own network, so that their ports are
	// the machine's; otherwise ports are published.
	HostNetwork bool
	// ReadOnlyRoot keeps containers from writing anywhere but to /tmp. Games for AWS may
	// write beside their program: AWS's Go SDK does, and ends if it cannot.
	ReadOnlyRoot bool
	// Mounts are the directories of this machine in which definitions may name paths.
	Mounts []string
	// Capabilities are those with which a container could take over this machine, as far as
	// definitions may add them.
	Capabilities []string
	// Credentials is a file with logins for registries, like Docker's config.json; "" means
	// the usual ones of the agent's user.
	Credentials string
}

// NoEngine is what to do where no container engine answers.
const NoEngine = "install Docker (apt-get install docker.io) or Podman (apt-get install podman), start it, and make sure that this user may use its socket"

// opens returns what connects to the container engine, or nil if none is used.
func (c Containers) opens(owner func() (string, error), log *slog.Logger) func(context.Context) (group.Engine, error) {
	if c.Engine == "" || c.Engine == "none" {
		return nil
	}
	return func(ctx context.Context) (group.Engine, error) {
		id, err := owner()
		if err != nil {
			return nil, err
		}
		o := engine.Options{
			Owner: engine.Owner{HostID: id}, WritableRoot: !c.ReadOnlyRoot, Mounts: c.Mounts, HostCapabilities: c.Capabilities, Credentials: c.Credentials, Log: log,
		}
		if c.Engine != "auto" {
			o.Host = c.Engine
		}
		if c.HostNetwork {
			o.Network = engine.HostNetwork
		}
		e, err := engine.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		return newContainerEngine(ctx, e, log)
	}
}

// ownerFile is the file below Root with the name under which the engine keeps this agent's
// containers: a machine that joins anew still finds what ran before.
const ownerFile = "containers.json"

// owner returns the name under which the engine keeps this agent's containers.
func (o Options) owner() (string, error) {
	path := filepath.Join(o.Root, ownerFile)
	var kept struct{ Owner string }
	err := disk.Read(path, &kept)
	if err == nil && kept.Owner != "" {
		return kept.Owner, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the owner of containers: %w", err)
	}
	kept.Owner = rand.Text()
	if err := disk.Write(path, kept); err != nil {
		return "", fmt.Errorf("keep the owner of containers: %w", err)
	}
	return kept.Owner, nil
}

// Check returns an error if the container engine does not answer.
func (c Containers) Check(ctx context.Context) error {
	open := c.opens(func() (string, error) { return "none", nil }, slog.New(slog.DiscardHandler))
	if open == nil {
		return errors.New("no container engine is to be used")
	}
	ctx, cancel := context.WithTimeout(ctx, engineWaits)
	defer cancel()
	e, err := open(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", NoEngine, err)
	}
	return e.(*containerEngine).Close()
}
