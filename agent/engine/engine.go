package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/musterhq/muster/hosts/protocol"
)

// HostNetwork is the Options.Network with which containers use the host's network.
const HostNetwork = "host"

// Options of Open. Zero fields take their default.
type Options struct {
	Host  string // address of the engine, as unix:///run/docker.sock; "": DOCKER_HOST, or the first of the usual sockets that answers
	Owner Owner

	Network string     // the engine's network that groups join; "": the engine's default; HostNetwork
	Publish netip.Addr // address of the host at which ports are published; zero: all

	Mounts           []string // directories in which definitions may name paths; none: no mounts
	HostCapabilities []string // of those with which a container can take over the machine, the ones that definitions may add
	WritableRoot     bool     // containers may write to their root, on the engine's disk
	Pids             int64    // most processes and threads of a container; default 4096
	LogBytes         int64    // most output that the engine keeps of a container; default 20 MiB

	PullsAtOnce int    // default 3
	Credentials string // file with logins for registries, as Docker's config.json; "": the usual ones of this user

	Log *slog.Logger // default: slog.Default
}

func (o Options) withDefaults() Options {
	o.Pids = cmp.Or(o.Pids, 4096)
	o.LogBytes = cmp.Or(o.LogBytes, 20<<20)
	o.PullsAtOnce = cmp.Or(o.PullsAtOnce, 3)
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Engine is a container engine of this machine.
type Engine struct {
	api     *client.Client
	podman  *http.Client // for Podman's own API; nil for Docker
	facts   protocol.Engine
	machine machine
	arch    string // of the engine, as images name it
	log     *slog.Logger
	cancel  context.CancelFunc // ends what runs in the background
	done    sync.WaitGroup

	pulls   pulls
	asking  semaphore // limits how many containers are inspected at once
	bridges bridges

	mu       sync.Mutex
	running  map[groupKey]*Running
	watching bool
	ctx      context.Context // of what runs in the background
}

// ErrNone reports that no container engine answers on this machine.
var ErrNone = errors.New("no container engine answers: install Docker or Podman, and start the agent as a user who may use its socket")

// Open connects to an engine.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	hosts := []string{o.Host}
	if o.Host == "" {
		hosts = usualHosts()
	}
	var problems []error
	for _, host := range hosts {
		e, err := connect(ctx, host, o)
		if err == nil {
			return e, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", host, err))
	}
	if o.Host != "" {
		return nil, errors.Join(problems...)
	}
	return nil, errors.Join(append([]error{ErrNone}, problems...)...)
}

// usualHosts returns the addresses at which engines of this machine listen.
func usualHosts() []string {
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		return []string{host}
	}
	sockets := []string{"/var/run/docker.sock", "/run/podman/podman.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman/podman.sock"))
	}
	var hosts []string
	for _, socket := range sockets {
		if _, err := os.Stat(socket); err == nil {
			hosts = append(hosts, "unix://"+socket)
		}
	}
	return hosts
}

// answerWithin limits how long Open waits for an engine.
const answerWithin = 10 * time.Second

func connect(ctx context.Context, host string, o Options) (*Engine, error) {
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, err
	}
	e := &Engine{api: api, log: o.Log, running: map[groupKey]*Running{}, bridges: bridges{fixed: map[int]bool{}}}
	e.asking = make(semaphore, 8)
	e.pulls.init(o.PullsAtOnce)
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := e.ask(asking, o); err != nil {
		api.Close()
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return e, nil
}

// ask finds out what the engine is.
func (e *Engine) ask(ctx context.Context, o Options) error {
	version, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return err
	}
	info, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return err
	}
	if version.Os != "linux" {
		return fmt.Errorf("the engine runs containers of %s, and only those of linux are supported", version.Os)
	}
	e.facts = protocol.Engine{Name: "docker", Version: version.Version}
	e.arch = version.Arch
	e.machine = machine{opts: o, cpus: max(info.Info.NCPU, 1), swapLimit: info.Info.SwapLimit, resolve: filepath.EvalSymlinks}
	for _, part := range version.Components {
		if strings.HasPrefix(part.Name, "Podman") {
			e.facts.Name, e.machine.podman = "podman", true
			e.machine.ulimits = ownLimits()
			e.podman = podmanClient(e.api)
		}
	}
	return nil
}

// Facts returns which engine it is.
func (e *Engine) Facts() protocol.Engine { return e.facts }

// Close ends what Engine does in the background. Containers continue.
func (e *Engine) Close() error {
	e.cancel()
	e.done.Wait()
	if e.podman != nil {
		e.podman.CloseIdleConnections()
	}
	return e.api.Close()
}

// filters selects the containers of the owner.
func (e *Engine) filters() client.Filters {
	o := e.machine.opts.Owner
	return client.Filters{}.Add("label", labelCell+"="+o.Cell, labelHost+"="+o.HostID)
}
