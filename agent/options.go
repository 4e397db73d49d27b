package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/handover"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/internal/tracing"
)

// Options configure an Agent. Zero fields mean the defaults.
type Options struct {
	Server string // Muster's base URL; "" runs only Own
	// Others are base URLs of the same Muster, tried in turn if Server cannot be
	// reached.
	Others []string
	// Plain allows plain HTTP to a server on another machine: anyone in between can
	// then make this machine run anything.
	Plain bool
	Token string // to join with; required if Root has no credential yet
	// NewToken creates a token if the machine has not joined, or if Muster no longer
	// accepts it; nil if only Token is available.
	NewToken func() (string, error)
	// Location is the machine's expected location; it is an error if the token has
	// another one. "" accepts the token's.
	Location string
	Root     string // the agent's folder; required
	Facts    protocol.Facts
	TLS      *tls.Config // for https; default: the system's root certificates

	// KeepRunning leaves the processes running when the agent ends; otherwise they are
	// stopped, and have StopGrace to end by themselves. StopGrace defaults to 10 s.
	KeepRunning bool
	StopGrace   time.Duration

	// Launcher is a program whose main function calls isolate.Enter: this one. With it,
	// processes are isolated as far as the machine supports it (package isolate); ""
	// means no isolation.
	Launcher string

	// Users are the users that instances run as, one each, if the agent is root. If
	// zero, all run as the agent's user.
	Users jail.Users
	// UserClaims is the folder in which all agents of this machine record the users
	// that they use. Default: /var/lib/muster-users.
	UserClaims string
	// ScriptUsers are the users that install scripts run as, isolated, if the agent is root and
	// Users is zero. Where that is not possible, such scripts fail: none runs as root. Zero: they
	// run as instances do.
	ScriptUsers jail.Users
	// Unconfined disables isolation: processes only get their own process group.
	Unconfined bool
	// Egress are networks to which game servers may send although isolation forbids
	// them: the machine itself, link-local addresses, and where clouds keep
	// credentials.
	Egress []netip.Prefix
	// Required makes Run fail if the machine does not support all of the isolation that
	// Launcher and Users request; otherwise the agent uses what is supported.
	Required bool

	// Collect opens the loopback ports on which AWS's Server SDKs expect a metrics
	// collector and a crash reporter. If they are taken, it opens others.
	Collect bool

	// Legacy are the ports on which game servers with Server SDK 3 and 4 connect; nil for
	// none. SDKs know legacy.Standard only.
	Legacy *legacy.Ports

	// Named are ranges of this machine for ports that have a name in parameters
	// ({{.Port.NAME}}). Ports of other names come from the range of all ports (Facts).
	Named instance.NamedRanges

	// RelayAll makes the processes of every fleet connect through the agent, like those
	// of fleets with the relay's tag. It is for processes that do not trust Muster's
	// certificate, as the agent does.
	RelayAll bool

	// Shells says which remote shells are run in instances. Default: none.
	Shells ShellPolicy

	// Containers say how container groups are run. Default: not at all.
	Containers Containers

	// Own are instances that Muster does not assign: programs on this machine.
	Own []*instance.Own
	// OwnImages are instances that Muster does not assign: images that the machine's
	// engine has, or can fetch.
	OwnImages []*group.Own

	// Sockets has the sockets of an agent that replaced itself by this one, and gets this
	// agent's for the next one (Agent.HandOver); nil: there is neither.
	Sockets *handover.Sockets

	Tracer *tracing.Tracer // of the spans of the agent's work; nil makes none
	Log    *slog.Logger    // default slog.Default()

	openEngine  func(context.Context) (group.Engine, error) // in place of Engine; for tests
	retryAfter  time.Duration                               // pause before a build's download is retried; for tests
	keepLogs    time.Duration                               // how long the folder of an instance outlives it; for tests
	lastReports time.Duration                               // how long the agent tries to send its last reports to Muster; for tests
}

// The default range of ports for games: below the ephemeral ports, which systems use
// for outgoing connections.
const (
	defaultPortFrom = 20000
	defaultPortTo   = 29999
)

func (o Options) withDefaults() Options {
	f := &o.Facts
	if f.Name == "" {
		f.Name, _ = os.Hostname()
	}
	f.OS = cmp.Or(f.OS, runtime.GOOS)
	f.Arch = cmp.Or(f.Arch, runtime.GOARCH)
	f.Version = cmp.Or(f.Version, release.This().Line("muster"))
	f.CPUMillis = cmp.Or(f.CPUMillis, runtime.NumCPU()*1000)
	f.MemoryMiB = cmp.Or(f.MemoryMiB, machineMemory())
	if f.PortFrom == 0 && f.PortTo == 0 {
		f.PortFrom, f.PortTo = defaultPortFrom, defaultPortTo
	}
	o.StopGrace = cmp.Or(o.StopGrace, 10*time.Second)
	o.keepLogs = cmp.Or(o.keepLogs, 5*time.Minute)
	o.lastReports = cmp.Or(o.lastReports, 3*time.Second)
	o.UserClaims = cmp.Or(o.UserClaims, "/var/lib/muster-users")
	o.Sockets = cmp.Or(o.Sockets, &handover.Sockets{})
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// servers returns the base URLs of Muster, in the order in which they are tried.
func (o Options) servers() []string {
	if o.Server == "" {
		return nil
	}
	return append([]string{o.Server}, o.Others...)
}

// validServer returns an error if a base URL is invalid.
func (o Options) validServer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("server: %q is no http:// or https:// URL", text)
	case !protocol.IsBasePath(u.Path) || u.RawQuery != "":
		return fmt.Errorf("server: %q must have no query, and no path but /regions/NAME", text)
	case u.Scheme == "http" && !o.Plain && !loopback(u.Hostname()):
		return fmt.Errorf("server: %s is plain HTTP to another machine: whoever is in between can have anything run here; use https://, or say --insecure-plain-http", text)
	}
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// onlyHere returns what to log where players on other machines cannot reach the address that they
// are sent to, although the server is on another machine; "" elsewhere.
func (o Options) onlyHere() string {
	servers := o.servers()
	if o.Facts.DNSName != "" || o.Facts.IPAddress == "" || !loopback(o.Facts.IPAddress) ||
		!slices.ContainsFunc(servers, func(text string) bool { u, err := url.Parse(text); return err == nil && !loopback(u.Hostname()) }) {
		return ""
	}
	return "players are sent to " + o.Facts.IPAddress + ", where only those on this machine find its game servers; give the address that others reach with --ip"
}

func (o Options) validate() error {
	for _, server := range o.servers() {
		if err := o.validServer(server); err != nil {
			return err
		}
	}
	switch {
	case o.Required && (o.Launcher == "" || o.Users.From == 0 || o.Unconfined):
		return errors.New("required: isolation needs a launcher and users")
	case o.Shells != NoShells && o.Shells != IsolatedShells && o.Shells != AnyShells:
		return fmt.Errorf("shells: %q is neither isolated nor as-agent", o.Shells)
	case o.Users.From < 0 || o.Users.To < o.Users.From:
		return fmt.Errorf("users: %d to %d is no range of numbers above 0", o.Users.From, o.Users.To)
	case o.Root == "":
		return errors.New("root: empty")
	case !filepath.IsAbs(o.Root):
		return fmt.Errorf("root: %q is not absolute", o.Root)
	case o.Facts.PortFrom < 1 || o.Facts.PortTo < o.Facts.PortFrom || o.Facts.PortTo > 60000:
		return fmt.Errorf("ports: %d-%d is no range within 1-60000, which is what the API and AWS's SDKs take", o.Facts.PortFrom, o.Facts.PortTo)
	}
	return o.Named.Apart(o.Facts.PortFrom, o.Facts.PortTo)
}
