package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/internal/telemetry"
)

// agentCommand is `muster agent`.
type agentCommand struct {
	Run     runAgentCommand     `cmd:"" default:"withargs" help:"Run game servers on this machine for a server."`
	Cleanup cleanupAgentCommand `cmd:"" help:"End the game servers that an agent left behind which is no more, and remove their folders."`
	Follows followsAgentCommand `cmd:"" hidden:"" help:"Print what this program takes over from an agent that replaces itself by it."`
}

// placeFlags say where an agent works, and how its game servers are isolated.
type placeFlags struct {
	logFlags
	Root      string `default:"./muster-agent" placeholder:"DIR" help:"Folder for the credential, builds, logs and the state of processes (${default})."`
	Isolation string `enum:",auto,required,off" default:"" help:"required: hold each game server to its instance's share of the machine, to a user, processes, folders and system calls of its own and to the networks beyond the machine, and do not start where the machine does not allow all that; auto: as far as it allows, and say what is missing; off: run them as the agent's user, without limits (required for root on Linux, else auto)."`
	Users     string `default:"1900000000-1900009999" placeholder:"FROM-TO" help:"Numbers for the users of instances; agents on one machine share them, nobody else should have them (${default})."`
}

type runAgentCommand struct {
	placeFlags
	Endpoint  []string `required:"" short:"e" aliases:"server" env:"MUSTER_ENDPOINT,MUSTER_SERVER" placeholder:"URL" help:"Base URL of the Muster server; several are tried in turn."`
	Plain     bool     `name:"insecure-plain-http" help:"Speak plain HTTP with a server on another machine: whoever is in between can have anything run here."`
	Token     string   `placeholder:"TOKEN" help:"Join token, for the first start ('muster admin join-tokens create' makes one); better given as MUSTER_TOKEN or in a file, where other users cannot see it."`
	TokenFile string   `name:"token-file" placeholder:"FILE" help:"File with the join token; not read any more once the machine has joined."`
	Location  string   `placeholder:"NAME" help:"Location that this machine is expected to join; another one is an error."`
	Name      string   `placeholder:"NAME" help:"Name of the machine, for people (its host name)."`
	IP        []string `name:"ip" placeholder:"ADDRESS" help:"Address that players reach: an IPv4 address, an IPv6 address, or both (the one from which the server sees us)."`
	DNS       string   `name:"dns" placeholder:"NAME" help:"DNS name that players reach."`
	Ports     string   `default:"20000-29999" placeholder:"FROM-TO" help:"Ports that games may take (${default})."`
	namedFlags
	CPU       float64        `name:"cpu" placeholder:"COUNT" help:"Processors to offer (all)."`
	Memory    int            `placeholder:"MIB" help:"Memory to offer, in MiB (all)."`
	Stop      bool           `help:"Stop the game servers when the agent ends; by default they run on and the next agent takes them over."`
	StopGrace time.Duration  `default:"10s" help:"With --stop: how long they have to end by themselves (${default})."`
	Egress    []netip.Prefix `name:"allow-egress" placeholder:"CIDR" help:"Networks to which game servers may send although they are on this machine or on its links, such as 127.0.0.1/32 for a database here; may be repeated."`
	Shells    string         `name:"allow-shells" placeholder:"WHICH" enum:",no,isolated,as-agent" default:"" help:"Let operators of the server open shells in the instances here (muster shell): isolated: isolated from this machine and from other instances as game servers are, or not at all; as-agent: where --isolation does not isolate them, as the agent's user, who must not be root; no: none (no)."`
	engineFlags
	legacyFlags
	OTLPEndpoint string `name:"otlp-endpoint" placeholder:"URL" help:"Send traces to this receiver of OpenTelemetry over HTTP; OTEL_EXPORTER_OTLP_ENDPOINT does so too (docs/monitoring.md)."`

	CA string `name:"ca" placeholder:"FILE" type:"existingfile" help:"PEM certificates to trust besides the system's. Game servers, which would not trust them, then connect through the agent."`
}

// engineFlags say how container groups are run.
type engineFlags struct {
	Engine       string   `name:"engine" default:"auto" placeholder:"ADDRESS" help:"Container engine for container fleets: auto (the first of Docker and Podman that answers), none, or the address of its API, such as unix:///run/docker.sock (${default})."`
	Network      string   `name:"engine-network" enum:"bridge,host" default:"bridge" help:"bridge: ports of containers are published on this machine; host: containers use the machine's network, and listen on its ports (${default})."`
	ReadOnlyRoot bool     `name:"read-only-containers" help:"Keep containers from writing to anything but /tmp and mounts, as games do that log beside their program."`
	Mounts       []string `name:"allow-mounts" placeholder:"DIR,…" help:"Directories of this machine in which container group definitions may mount paths (none)."`
	Capabilities []string `name:"allow-capabilities" placeholder:"NAME,…" help:"Linux capabilities with which a container could take over this machine, such as SYS_PTRACE, that definitions may add (none)."`
	Credentials  string   `name:"engine-credentials-file" placeholder:"FILE" help:"File with logins for registries, in the form of Docker's config.json (the one of the agent's user)."`
}

func (f engineFlags) options() agent.Containers {
	return agent.Containers{Engine: f.Engine, HostNetwork: f.Network == "host", ReadOnlyRoot: f.ReadOnlyRoot, Mounts: f.Mounts, Capabilities: f.Capabilities, Credentials: f.Credentials}
}

// legacyFlags say whether game servers with Server SDK 3 and 4 are served.
type legacyFlags struct {
	LegacySDK bool `name:"legacy-sdk" default:"true" negatable:"" help:"Let game servers with Server SDK 3 and 4 connect, on ports 5757 to 5759 of the loopback interface (${default})."`
}

func (f legacyFlags) ports() *legacy.Ports {
	if !f.LegacySDK {
		return nil
	}
	return &legacy.Standard
}

// Run works until a signal comes. SIGHUP and SIGUSR2 make the agent replace itself by its
// program as it is on disk now; game servers do not notice. If that program does not start,
// the agent goes on.
func (c *runAgentCommand) Run(t *streams, o agent.Options) error {
	name, _ := os.Hostname() // as the agent calls itself without --name
	traces, err := telemetry.New(telemetry.Options{
		Endpoint: c.OTLPEndpoint, Service: "muster-agent", Version: release.This().Number, Instance: cmp.Or(o.Facts.Name, name),
		Registerer: prometheus.NewRegistry(), Logger: o.Log,
	})
	if err != nil {
		return err
	}
	o.Tracer, o.Sockets = traces.Tracer(""), handover.Take()
	a, err := agent.New(o)
	if err != nil {
		return err
	}
	if err := traces.Start(t.ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	replaced := replacements()
	go func() {
		for ctx.Err() == nil {
			select {
			case <-replaced:
				if err := prepareReplacement(ctx, a); err != nil {
					o.Log.Error("the agent goes on, since the program on disk cannot replace it", "error", err)
					continue
				}
				cancel(errReplace)
			case <-ctx.Done():
			}
		}
	}()
	err = a.Run(ctx)
	traces.CloseTraces(context.WithoutCancel(ctx))
	if errors.Is(err, agent.ErrIsolation) {
		return fmt.Errorf("%w; with --isolation auto game servers are isolated as far as this machine allows, with off not at all: then host only builds that you trust", err)
	}
	if errors.Is(context.Cause(ctx), errReplace) {
		return errors.Join(err, replace(o.Sockets.Environ(os.Environ())))
	}
	return err
}

var errReplace = errors.New("the agent replaces itself")

// takesSockets is what followsAgentCommand prints: the program takes sockets over.
const takesSockets = "takes sockets"

// prepareReplacement tries the program on disk, and has an agent keep what that program takes over.
func prepareReplacement(ctx context.Context, a *agent.Agent) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "agent", "follows").Output()
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && (!ran || ctx.Err() != nil) {
		return err
	}
	if strings.TrimSpace(string(out)) != takesSockets { // a release that does not know the question opens the ports anew
		a.KeepRunning()
		return nil
	}
	return a.HandOver()
}

// followsAgentCommand is `muster agent follows`, which an agent calls before this program
// replaces it.
type followsAgentCommand struct{}

// Run prints what the program takes over.
func (*followsAgentCommand) Run(t *streams) error {
	_, err := fmt.Fprintln(t.out, takesSockets)
	return err
}

// ProvideOptions is called by kong for Run.
func (c *runAgentCommand) ProvideOptions(t *streams) (agent.Options, error) {
	o, err := c.placeFlags.ProvideOptions(t)
	if err != nil {
		return o, err
	}
	servers := make([]string, len(c.Endpoint))
	for n, server := range c.Endpoint {
		servers[n] = strings.TrimRight(server, "/")
	}
	o.Server, o.Others, o.Plain = servers[0], servers[1:], c.Plain
	if o.Location = c.Location; !agent.HasJoined(o.Root) {
		if o.Token, err = (secret{"token", c.Token, c.TokenFile}).read(o.Log); err != nil {
			return o, err
		}
	}
	o.KeepRunning, o.Collect, o.StopGrace = !c.Stop, true, c.StopGrace
	o.Facts = protocol.Facts{
		Name: c.Name, DNSName: c.DNS, Version: version(),
		CPUMillis: int(c.CPU * 1000), MemoryMiB: c.Memory,
	}
	if o.Facts.IPAddress, o.Facts.IPv6, err = address.Pair(c.IP...); err != nil {
		return o, fmt.Errorf("ip: %w", err)
	}
	if o.Facts.PortFrom, o.Facts.PortTo, err = numbers("ports", c.Ports); err != nil {
		return o, err
	}
	if o.Named, err = c.namedFlags.ranges(); err != nil {
		return o, err
	}
	o.Egress = c.Egress
	if c.Shells != "no" {
		o.Shells = agent.ShellPolicy(c.Shells)
	}
	o.Containers = c.engineFlags.options()
	o.Legacy = c.legacyFlags.ports()
	if c.CA != "" {
		o.RelayAll = true
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return o, fmt.Errorf("read certificates: %w", err)
		}
		if o.TLS, err = trusting(pem); err != nil {
			return o, err
		}
	}
	return o, nil
}

// ProvideOptions returns the options for any work in an agent's folder, to kong.
func (c *placeFlags) ProvideOptions(t *streams) (agent.Options, error) {
	o := agent.Options{Log: c.logger(t.err)}
	o.Launcher, _ = os.Executable() // without it processes are not isolated
	var err error
	o.Required = c.Isolation == "required" || c.Isolation == "" && runtime.GOOS == "linux" && os.Geteuid() == 0
	if o.Unconfined = c.Isolation == "off"; !o.Unconfined {
		if o.Users.From, o.Users.To, err = numbers("users", c.Users); err != nil {
			return o, err
		}
	}
	if o.Root, err = filepath.Abs(c.Root); err != nil {
		return o, fmt.Errorf("root: %w", err)
	}
	return o, nil
}

type cleanupAgentCommand struct {
	placeFlags
	engineFlags
}

// Run ends whatever is left in an agent's folder.
func (c *cleanupAgentCommand) Run(t *streams, o agent.Options) error {
	o.Required = false // nothing is launched
	o.Containers = c.engineFlags.options()
	if _, err := os.Stat(o.Root); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	a, err := agent.New(o)
	if err != nil {
		return err
	}
	ended, err := a.Cleanup(t.ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "What was left of %d instances is ended and removed.\n", ended)
	return err
}

// numbers parses FROM-TO.
func numbers(option, text string) (from, to int, err error) {
	first, last, ok := strings.Cut(text, "-")
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("%s: %q is not FROM-TO", option, text)
	}
	return from, to, nil
}
