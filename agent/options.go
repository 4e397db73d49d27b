package agent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// Version is what an agent says of itself.
const Version = "1"

// Options of an Agent. Zero members mean the defaults.
type Options struct {
	Server string // Muster's base URL; "" runs Own alone
	// Others are base URLs of the same Muster, tried in turn where Server cannot be
	// reached.
	Others []string
	// Plain lets a server be spoken to without TLS that is not on this machine:
	// whoever is in between can have anything run here.
	Plain bool
	Token string // to join with; needed where Root has no credential yet
	// NewToken makes a token where the machine has not joined, or where Muster does
	// not know it any more; nil where only Token can be had.
	NewToken func() (string, error)
	// Location is where the machine is expected to be; another one that the token
	// names is an error. "" takes what the token names.
	Location string
	Root     string // the agent's folder; required
	Facts    protocol.Facts
	TLS      *tls.Config // for https; default: the system's roots

	// Leave lets the processes run on when the agent ends; else they are stopped,
	// with StopGrace to end by themselves. Default of StopGrace: 10 s.
	Leave     bool
	StopGrace time.Duration

	// Launcher is a program whose main function calls isolate.Enter: ours. With it
	// processes are held to the size of their instance where the machine allows
	// that (package isolate); "" holds them to nothing.
	Launcher string

	// Users are what instances run as, one each, where the agent is root. The zero
	// value has all run as the agent's user.
	Users Users
	// UserClaims is the folder in which all agents of this machine note which user is
	// whose. Default: /var/lib/muster-users.
	UserClaims string
	// Unconfined holds processes to nothing but a process group.
	Unconfined bool
	// Egress are networks to which game servers may send besides what isolation leaves
	// them: the machine itself, links, and where clouds keep credentials.
	Egress []netip.Prefix
	// Required has Run fail where the machine does not allow all that Launcher and
	// Users ask for; else it does as much as it can.
	Required bool

	// Collect opens the loopback ports on which AWS's Server SDKs expect a metrics
	// collector and a crash reporter. Ports that are taken are left to who has them.
	Collect bool

	// RelayAll has the processes of every fleet connect through the agent, as those
	// of fleets with the relay's tag do: where they would not trust Muster's
	// certificate, and the agent does.
	RelayAll bool

	// Own are instances that no Muster assigns: programs that lie on this machine.
	Own []*Own

	Log *slog.Logger // default slog.Default()

	retryAfter time.Duration // of a build's download; for tests
}

// The ports that games may take where nobody says otherwise: below the range
// from which systems take ports for outgoing connections.
const (
	defaultPortFrom = 20000
	defaultPortTo   = 29999
)

func (o Options) withDefaults() Options {
	f := &o.Facts
	if f.Name == "" {
		f.Name, _ = os.Hostname()
	}
	fill(&f.OS, runtime.GOOS)
	fill(&f.Arch, runtime.GOARCH)
	fill(&f.Version, Version)
	fill(&f.CPUMillis, runtime.NumCPU()*1000)
	fill(&f.MemoryMiB, machineMemory())
	if f.PortFrom == 0 && f.PortTo == 0 {
		f.PortFrom, f.PortTo = defaultPortFrom, defaultPortTo
	}
	fill(&o.StopGrace, 10*time.Second)
	fill(&o.UserClaims, "/var/lib/muster-users")
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// servers are the base URLs of Muster, in the order in which they are tried.
func (o Options) servers() []string {
	if o.Server == "" {
		return nil
	}
	return append([]string{o.Server}, o.Others...)
}

// validServer returns what is wrong with a base URL.
func (o Options) validServer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("server: %q is no http:// or https:// URL", text)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		return fmt.Errorf("server: %q must have no path and no query", text)
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

func (o Options) validate() error {
	for _, server := range o.servers() {
		if err := o.validServer(server); err != nil {
			return err
		}
	}
	switch {
	case o.Required && (o.Launcher == "" || o.Users.From == 0 || o.Unconfined):
		return errors.New("required: isolation needs a launcher and users")
	case o.Users.From < 0 || o.Users.To < o.Users.From:
		return fmt.Errorf("users: %d to %d is no range of numbers above 0", o.Users.From, o.Users.To)
	case o.Root == "":
		return errors.New("root: empty")
	case !filepath.IsAbs(o.Root):
		return fmt.Errorf("root: %q is not absolute", o.Root)
	case o.Facts.PortFrom < 1 || o.Facts.PortTo < o.Facts.PortFrom || o.Facts.PortTo > 60000:
		return fmt.Errorf("ports: %d-%d is no range within 1-60000, which is what the API and AWS's SDKs take", o.Facts.PortFrom, o.Facts.PortTo)
	}
	return nil
}

func fill[T comparable](to *T, v T) {
	var zero T
	if *to == zero {
		*to = v
	}
}
